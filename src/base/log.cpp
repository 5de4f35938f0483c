// spdlog behind three functions.
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace longhaul {

namespace {

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
        sink->set_pattern("[%H:%M:%S] %^%l%$ %v");
        auto made = std::make_shared<spdlog::logger>("longhaul", sink);
        made->flush_on(spdlog::level::info);
        return made;
    }();
    return *instance;
}

}  // namespace

void log_info(std::string_view message) {
    logger().info("{}", message);
}
void log_warning(std::string_view message) {
    logger().warn("{}", message);
}
void log_error(std::string_view message) {
    logger().error("{}", message);
}

void log_to_file(const char* path) {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    logger().sinks().push_back(sink);
}

}  // namespace longhaul
