// The command line: one file a subcommand; this header joins them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace longhaul::cli {

// Parses, runs one subcommand, returns the exit status (0, 2, 3, 4, 130, 143).
int run(int argc, char** argv);

// Each subcommand adds its options to `app` and sets `status` in its callback when it does not end with 0.
void add_train(CLI::App& app, int& status);
void add_generate(CLI::App& app, int& status);  // generate and eval
void add_bench(CLI::App& app, int& status);
void add_tokenizer(CLI::App& app, int& status);
void add_data(CLI::App& app, int& status);
void add_import(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_checkpoint(CLI::App& app, int& status);

}  // namespace longhaul::cli
