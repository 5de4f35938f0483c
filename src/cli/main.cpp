// Entry point of the one binary.
#include "cli/app.h"

int main(int argc, char** argv) {
    return longhaul::cli::run(argc, argv);
}
