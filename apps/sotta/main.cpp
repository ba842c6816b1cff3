#include "program.h"

int main(int argc, char** argv) {
  return sotta::cli::run_program(argc, argv);
}
