#include <alloca.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

// Threads of LibTorch (OpenMP) and OpenBLAS that wait for work spin for
// milliseconds before they sleep. On a machine with other work that takes the
// processor from the very thread that is waited for. Both libraries read from
// the environment how to wait, when they are loaded, which is before main(): so
// the program begins anew with these variables, before any library has
// initialised itself. That costs a sixth of a second.
//
// Nothing of the C++ library works so early, and sanitizers do not yet.

namespace {

// About 50 microseconds, as in the engine's WorkerPool: on an idle machine as
// fast as spinning. A variable that is set already stays as it is.
struct Variable {
  const char* text;
  const char* unless;  // this one is set
};
constexpr Variable kVariables[] = {
    {"OMP_WAIT_POLICY=passive", "OMP_WAIT_POLICY="},
    {"GOMP_SPINCOUNT=2000", "OMP_WAIT_POLICY="},
    {"OPENBLAS_THREAD_TIMEOUT=17", "OPENBLAS_THREAD_TIMEOUT="}};  // 2^17 cycles

#define SOTTA_BEFORE_LIBRARIES \
  __attribute__((no_sanitize("address", "undefined", "thread")))

SOTTA_BEFORE_LIBRARIES bool names_the_same(const char* a, const char* b) {
  for (; *a == *b && *a != '='; ++a, ++b)
    if (*a == '\0') return false;
  return *a == *b;
}

SOTTA_BEFORE_LIBRARIES bool is_set(char** environment, const char* variable) {
  for (char** entry = environment; *entry != nullptr; ++entry)
    if (names_the_same(*entry, variable)) return true;
  return false;
}

SOTTA_BEFORE_LIBRARIES void wait_passively(int, char** arguments,
                                           char** environment) {
  int count = 0;
  while (environment[count] != nullptr)
    ++count;
  constexpr int kMore = sizeof kVariables / sizeof *kVariables;
  auto** changed = static_cast<const char**>(
      alloca(sizeof(char*) * static_cast<size_t>(count + kMore + 1)));
  int size = 0;
  for (; size < count; ++size)
    changed[size] = environment[size];
  for (const Variable& variable : kVariables)
    if (!is_set(environment, variable.text) &&
        !is_set(environment, variable.unless))
      changed[size++] = variable.text;
  changed[size] = nullptr;

  // Without an interpreter's address the loader was called by hand with this
  // program as its argument: nothing that could begin anew.
  if (size == count || getauxval(AT_BASE) == 0) return;
  // Fails only where the file is gone; then the threads spin.
  syscall(SYS_execve, getauxval(AT_EXECFN), arguments, changed);
}

__attribute__((section(".preinit_array"),
               used)) void (*const kBeforeLibraries)(int, char**,
                                                     char**) = wait_passively;

}  // namespace
