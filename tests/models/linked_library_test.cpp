#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Upstream's LibTorch exports copies of these from an older compiler, and some
// of them call functions that are not there: cmake/SottaTorch.cmake.
TEST(LinkedLibrary, FilesystemIsNotLibTorchs) {
  for (const char* name :
       {"_ZNSt10filesystem10remove_allERKNS_7__cxx114pathERSt10error_code",
        "_ZNSt10filesystem7__cxx1118directory_iterator9incrementERSt10error_"
        "code",
        "_ZNSt10filesystem7__cxx1128recursive_directory_iteratorppEv"}) {
    void* function = dlsym(RTLD_DEFAULT, name);
    Dl_info found{};
    if (function == nullptr || dladdr(function, &found) == 0) continue;

    const std::string file = found.dli_fname;
    EXPECT_EQ(file.substr(file.rfind('/') + 1).find("torch"), std::string::npos)
        << name << " comes from " << file;
  }
}

}  // namespace
}  // namespace sotta
