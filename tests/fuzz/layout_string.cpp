// A layout string: refused with a caret, or a layout that prints and reads back as itself.
#include "layout/layout_string.h"

#include "base/error.h"
#include "fuzz/fuzz.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<StageLayers> stages;
  try {
    stages = parse_layout_string(fuzz::text_of(data, size));
  } catch (const UserError& error) {
    const std::string what = error.what();
    fuzz::require(what.ends_with('^'), "a refusal shows its place");
    return 0;
  }
  fuzz::require(parse_layout_string(print_layout_string(stages)) == stages, "parse(print(x)) == x");
  return 0;
}
