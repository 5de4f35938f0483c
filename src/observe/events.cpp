// One JSON object an event.
#include "observe/events.h"

#include <nlohmann/json.hpp>

#include "base/time.h"

namespace longhaul::observe {

void EventLog::event(std::string_view kind,
                     std::initializer_list<std::pair<std::string_view, EventValue>> fields) {
    nlohmann::ordered_json object{{"time", unix_time()}, {"event", kind}};
    for (const auto& field : fields) {
        std::visit([&](const auto& value) { object[std::string(field.first)] = value; }, field.second);
    }
    file_.append(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace longhaul::observe
