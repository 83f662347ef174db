// A configuration file: values are taken or refused, all at once; nothing is thrown.
#include <unistd.h>

#include <fstream>

#include "config/request.h"
#include "fuzz/fuzz.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "fuzz_config_" + std::to_string(getpid()) + ".toml";
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data, size);
  std::vector<Violation> violations;
  const Request request = read_request(Verb::Train, {}, {{"WEFT_CONFIG", path}}, violations);
  for (const Violation& violation : violations) {
    fuzz::require(!violation.rule.empty() && !violation.message.empty(), "a refusal has words");
  }
  unlink(path.c_str());
  return 0;
}
