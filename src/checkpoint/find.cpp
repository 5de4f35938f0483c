// What a `checkpoints` folder holds: the newest complete checkpoint, and what may be removed.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/load.h"
#include "checkpoint/manifest.h"
#include "checkpoint/save.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStepPrefix = "step-";

std::optional<std::int64_t> number(std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || value < 0)
        return std::nullopt;
    return value;
}

// The step of "step-00000100"; nothing for other names, "step-100" among them.
std::optional<std::int64_t> step_of(const std::string& name) {
    if (!name.starts_with(kStepPrefix)) return std::nullopt;
    const auto step = number(std::string_view(name).substr(kStepPrefix.size()));
    if (!step || step_name(*step) != name) return std::nullopt;
    return step;
}

// The process that made a temporary: ".step-00000100.tmp-4711", ".latest.tmp-4711".
std::optional<std::int64_t> owner_of(const std::string& name) {
    if (!name.starts_with(".step-") && !name.starts_with(".latest.")) return std::nullopt;
    const std::size_t point = name.rfind('.');
    const std::size_t dash = name.rfind('-');
    if (dash == std::string::npos || dash < point) return std::nullopt;
    const std::string_view purpose = std::string_view(name).substr(point + 1, dash - point - 1);
    if (purpose != "tmp" && purpose != "old" && purpose != "deleted") return std::nullopt;
    return number(std::string_view(name).substr(dash + 1));
}

struct Listing {
    std::map<std::int64_t, fs::path, std::greater<>> steps;  // newest first
    std::vector<fs::path> temporaries;
    std::vector<fs::path> foreign;
    bool has_latest = false;
};

Listing list(const fs::path& folder) {
    Listing listing;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (const auto step = step_of(name)) {
            listing.steps.emplace(*step, at->path());
        } else if (owner_of(name)) {
            listing.temporaries.push_back(at->path());
        } else if (name == "latest") {
            listing.has_latest = true;
        } else {
            listing.foreign.push_back(at->path());
        }
    }
    require(!error, ErrorCode::bad_data, "cannot read the folder {}: {}", folder.string(), error.message());
    return listing;
}

// A checkpoint that was copied to another step's name would be resumed from at the wrong step.
std::string step_fault(std::int64_t step, const fs::path& path, const Checkpoint& checkpoint) {
    if (checkpoint.state().step == step) return "";
    return fmt::format("{} is named after step {} but holds step {}", path.string(), step,
                       checkpoint.state().step);
}

std::optional<Checkpoint> open_step(std::int64_t step, const fs::path& path, Check check,
                                    std::string& fault) {
    try {
        Checkpoint checkpoint = Checkpoint::open(path, check);
        fault = step_fault(step, path, checkpoint);
        if (fault.empty()) return checkpoint;
    } catch (const Error& error) {
        fault = error.what();
    }
    return std::nullopt;
}

// What is wrong with `latest`, where it is there.
std::string latest_fault(const fs::path& folder, const Listing& listing) {
    if (!listing.has_latest) return "";
    std::string name;
    try {
        name = read_file(folder / "latest");
    } catch (const Error& error) {
        return error.what();
    }
    while (!name.empty() && name.back() == '\n') name.pop_back();
    const auto step = step_of(name);
    if (!step) return fmt::format("{} names no checkpoint: it is damaged", (folder / "latest").string());
    if (!listing.steps.contains(*step))
        return fmt::format("{} names {}, which is not there", (folder / "latest").string(), name);
    return "";
}

std::string first_names(const std::vector<fs::path>& paths) {
    constexpr std::size_t kShown = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, paths.size()); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", paths[i].filename().string());
    return paths.size() > kShown ? text + ", ..." : text;
}

bool alive(std::int64_t pid) {
    return pid != ::getpid() && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

// The folder of checkpoints in what a user gives; empty where that is itself a checkpoint, whole or not.
// Error bad_data says what was looked for.
fs::path folder_of(const fs::path& given) {
    std::error_code error;
    require(fs::is_directory(given, error), ErrorCode::bad_data,
            "{} is not a directory: no checkpoint is there", given.string());
    const fs::path plain = given.has_filename() ? given : given.parent_path();
    if (fs::exists(given / kManifestName, error) || step_of(plain.filename().string())) return {};
    if (fs::is_directory(given / "checkpoints", error)) return given / "checkpoints";
    require(!fs::exists(given / "config.json", error), ErrorCode::bad_data,
            "{} is a Hugging Face folder, not a checkpoint: `longhaul import {} --out CHECKPOINT` makes one "
            "of it",
            given.string(), given.string());
    const Listing listing = list(given);
    require(!listing.steps.empty() || listing.has_latest || !listing.temporaries.empty(), ErrorCode::bad_data,
            "{} is neither a checkpoint (it has no {}), nor a folder of checkpoints (no step-NNNNNNNN), nor "
            "a run (no "
            "checkpoints/)",
            given.string(), kManifestName);
    return given;
}

fs::path newest_or_fail(const fs::path& folder) {
    const std::optional<Found> found = newest_complete(folder);
    require(found.has_value(), ErrorCode::bad_data,
            "{} holds no complete checkpoint: no save of this run has finished yet", folder.string());
    if (!found->passed_over.empty()) log_warning(found->statement());
    return found->dir;
}

}  // namespace

std::string Found::statement() const {
    if (passed_over.empty()) return "";
    return fmt::format("using the older checkpoint {} (step {}), the newest that is complete, because:\n  {}",
                       dir.string(), checkpoint.state().step, fmt::join(passed_over, "\n  "));
}

std::optional<Found> newest_complete(const fs::path& folder) {
    std::error_code error;
    if (!fs::exists(folder, error)) return std::nullopt;
    const Listing listing = list(folder);
    std::vector<std::string> passed_over;
    const std::string latest = latest_fault(folder, listing);
    if (!latest.empty()) passed_over.push_back(latest);
    for (const auto& [step, path] : listing.steps) {
        std::string fault;
        if (auto checkpoint = open_step(step, path, Check::hashes, fault))
            return Found{path, std::move(*checkpoint), std::move(passed_over)};
        passed_over.push_back(std::move(fault));
    }
    require(passed_over.empty(), ErrorCode::bad_data,
            "{} holds no usable checkpoint:\n  {}\nTo start anew, move the folder away.", folder.string(),
            fmt::join(passed_over, "\n  "));
    require(listing.foreign.empty(), ErrorCode::bad_data,
            "{} holds no checkpoint but other things ({}): is it the right folder? To start anew, name "
            "another one.",
            folder.string(), first_names(listing.foreign));
    // A first save that never finished leaves a temporary; a folder that somebody emptied has none.
    require(!listing.temporaries.empty(), ErrorCode::bad_data,
            "{} is empty: its checkpoints are gone, or it is the wrong folder. To start anew, remove it.",
            folder.string());
    return std::nullopt;
}

fs::path resolve(const fs::path& given) {
    const fs::path folder = folder_of(given);
    if (!folder.empty()) return newest_or_fail(folder);
    std::error_code error;
    require(fs::exists(given / kManifestName, error), ErrorCode::bad_data,
            "{} has no {}: its save did not finish, or it was damaged", given.string(), kManifestName);
    return given;
}

std::vector<Verified> verify_all(const fs::path& given) {
    const fs::path folder = folder_of(given);
    if (folder.empty()) return {{given, verify(given)}};
    const Listing listing = list(folder);
    std::vector<Verified> all;
    for (const auto& [step, path] : listing.steps) {
        std::string fault;
        all.push_back({path, verify(path)});
        if (!all.back().faults.empty()) continue;
        if (!open_step(step, path, Check::sizes, fault)) all.back().faults.push_back(fault);
    }
    const std::string latest = latest_fault(folder, listing);
    if (!latest.empty()) all.push_back({folder, {latest}});
    require(!all.empty(), ErrorCode::bad_data, "{} holds no checkpoint to verify", folder.string());
    return all;
}

void keep_newest(const fs::path& folder, std::int64_t keep, const fs::path& just_saved) {
    const Listing listing = list(folder);
    std::int64_t kept = 0;
    bool verified = false;
    for (const auto& [step, path] : listing.steps) {
        const bool trusted = !just_saved.empty() && path.filename() == just_saved.filename();
        std::string fault;
        if (!open_step(step, path, verified || trusted ? Check::sizes : Check::hashes, fault)) {
            log_warning(fmt::format("not counted among the checkpoints to keep: {}", fault));
            continue;
        }
        verified = true;
        if (keep == 0 || kept < keep) {
            ++kept;
        } else {
            remove_directory(path, {});
        }
    }
    if (!verified) return;
    for (const fs::path& path : listing.temporaries) {
        if (alive(*owner_of(path.filename().string()))) continue;
        std::error_code error;
        fs::remove_all(path, error);
        if (error) log_warning(fmt::format("cannot remove {}: {}", path.string(), error.message()));
    }
}

}  // namespace longhaul::checkpoint
