// Assembles the subcommands and turns errors into messages and exit statuses.
#include "cli/app.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"

namespace longhaul::cli {

int run(int argc, char** argv) {
    CLI::App app{"Longhaul trains large language models, on one laptop CPU or many machines.", "longhaul"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "longhaul 0.1.0");
    app.failure_message(CLI::FailureMessage::help);
    int status = 0;
    add_train(app, status);
    add_generate(app, status);
    add_bench(app, status);
    add_tokenizer(app, status);
    add_data(app, status);
    add_import(app, status);
    add_export(app, status);
    add_checkpoint(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // CLI11 has an exit status for each kind of error; ours is 2 for all of them, 0 for --help and
        // --version.
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const Error& error) {
        log_error(error.what());
        return exit_status(error.code());
    } catch (const std::exception& error) {
        log_error(error.what());
        return exit_status(ErrorCode::internal);
    }
    return status;
}

}  // namespace longhaul::cli
