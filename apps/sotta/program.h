#pragma once

namespace sotta::cli {

// The whole program: reads the command line, does what it says, and gives the
// exit code. A main() of one's own may register methods, scenarios and
// corruptions first; every verb then knows them.
int run_program(int argc, char** argv);

}  // namespace sotta::cli
