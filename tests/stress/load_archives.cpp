// Loads archives that somebody damaged, each in a process of its own:
//
//   sotta_load_archives GOOD.pt < names
//
// Reads names of TorchScript archives (.pt) and checkpoints (.pth) and says of
// each what became of it, one line "verdict<tab>name<tab>text":
//
//   accepted   loaded and run, or converted
//   refused    sotta::Error; the text is its sentence
//   internal   any other exception
//   crashed    the process ended by a signal
//
// LibTorch is loaded and tried on GOOD.pt once; the processes are copies made
// by fork(), so that an archive takes hundredths of a second.
// mutate_archives.py makes the archives and judges the verdicts.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>

#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "gpu/out_of_memory.h"
#include "models/convert_weights.h"
#include "models/network_file.h"
#include "network_probe.h"

namespace {

constexpr int kMostSeconds = 20;

void set_limits() {
  const rlimit time = {kMostSeconds, kMostSeconds};
  setrlimit(RLIMIT_CPU, &time);
  const rlimit core = {0, 0};
  setrlimit(RLIMIT_CORE, &core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, SIG_DFL);  // a sanitizer would exit instead
}

void load(const std::filesystem::path& file) {
  if (file.extension() == ".pt") {
    sotta::LoadOptions options;
    options.normalisation = sotta::Normalisation{{0, 0, 0}, {1, 1, 1}};
    sotta::cli::try_network(*sotta::load_network_file(file, options));
    return;
  }
  auto output = file;
  output += ".out";
  sotta::convert_weights(file, output, {});
  std::filesystem::remove(output);
}

// "verdict<tab>name<tab>text" of one archive.
std::string verdict_of(const std::string& name) {
  try {
    sotta::explain_out_of_memory("less", [&] { load(name); });
    return "accepted\t" + name + "\t";
  } catch (const sotta::Error& error) {
    return "refused\t" + name + "\t" + error.what();
  } catch (const std::exception& error) {
    return "internal\t" + name + "\t" + error.what();
  }
}

void say(std::string line) {
  for (char& c : line)
    if (c == '\n') c = '\1';  // seen as a line that is broken
  std::puts(line.c_str());
  std::fflush(stdout);
}

void try_archive(const std::string& name) {
  const pid_t child = fork();
  if (child == 0) {
    set_limits();
    say(verdict_of(name));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status))
    say("crashed\t" + name + "\t" + strsignal(WTERMSIG(status)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s GOOD.pt < names\n", argv[0]);
    return 2;
  }
  at::set_num_threads(1);
  const std::string first = verdict_of(argv[1]);
  if (first.rfind("accepted", 0) != 0) {
    std::fprintf(stderr, "%s\n", first.c_str());
    return 1;
  }
  std::string name;
  while (std::getline(std::cin, name))
    try_archive(name);
  return 0;
}
