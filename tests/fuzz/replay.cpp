// Runs a fuzzer over the files of the folders that are given, where there is no libFuzzer; then
// over each file cut short and with single bytes changed, so that more than the corpus is covered.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/fuzz.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

void run(const Bytes& bytes) {
  // A copy of just this size: a sanitizer sees what is read behind it.
  const Bytes copy(bytes);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void run_variants(const Bytes& bytes) {
  // At most some 60 of each, spread evenly.
  const std::size_t stride = std::max<std::size_t>(1, bytes.size() / 60);
  for (std::size_t i = 0; i < bytes.size(); i += stride) {
    run(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i)));
    for (const std::uint8_t value : {'\0', '(', '9', '\xff'}) {
      Bytes changed(bytes);
      changed[i] = value;
      run(changed);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const Bytes bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      std::printf("%s\n", entry.path().filename().c_str());
      std::fflush(stdout);
      run(bytes);
      run_variants(bytes);
      ++files;
    }
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}
