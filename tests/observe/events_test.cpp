// events.jsonl: one object an event, fields in order, any bytes in texts.
#include "observe/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/time.h"
#include "data/temp_folder.h"

namespace longhaul::observe {
namespace {

using nlohmann::ordered_json;
using test::TempFolder;

std::vector<ordered_json> lines(const std::string& path) {
    std::vector<ordered_json> all;
    std::istringstream text(read_file(path));
    for (std::string line; std::getline(text, line);) all.push_back(ordered_json::parse(line));
    return all;
}

TEST(Events, AreObjectsWithTimeKindAndFieldsInOrder) {
    const TempFolder folder;
    const double before = unix_time();
    EventLog log(folder / "e");
    log.event("start", {{"steps", std::int64_t{10}}, {"b", 0.1}, {"a", std::string("text \"q\"\n")}});
    log.event("end", {});
    const auto all = lines(folder / "e");
    ASSERT_EQ(all.size(), 2U);
    std::vector<std::string> keys;
    for (const auto& [key, value] : all[0].items()) keys.push_back(key);
    EXPECT_THAT(keys, testing::ElementsAre("time", "event", "steps", "b", "a"));
    EXPECT_EQ(all[0]["event"], "start");
    EXPECT_EQ(all[0]["steps"], 10);
    EXPECT_EQ(all[0]["b"].get<double>(), 0.1);
    EXPECT_EQ(all[0]["a"], "text \"q\"\n");
    EXPECT_GE(all[0]["time"].get<double>(), before);
    EXPECT_LE(all[0]["time"].get<double>(), unix_time());
    EXPECT_EQ(all[1].size(), 2U);
}

TEST(Events, GoOnInTheFileOfAnEarlierProcess) {
    const TempFolder folder;
    EventLog(folder / "e").event("start", {});
    EventLog(folder / "e").event("resume", {});
    const auto all = lines(folder / "e");
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1]["event"], "resume");
}

TEST(Events, TextThatIsNoUtf8AndNumbersThatAreNotFiniteStayJson) {
    const TempFolder folder;
    EventLog log(folder / "e");
    log.event("signal", {{"path", std::string("a\xff/b")}, {"loss", std::nan("")}});
    const auto all = lines(folder / "e");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0]["path"], "a\uFFFD/b");
    EXPECT_TRUE(all[0]["loss"].is_null());
}

}  // namespace
}  // namespace longhaul::observe
