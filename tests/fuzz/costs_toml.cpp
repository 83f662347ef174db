// Costs as TOML: refused, or costs that print and read back as themselves.
#include "base/error.h"
#include "costs/costs_toml.h"
#include "fuzz/fuzz.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Costs costs;
  try {
    costs = parse_costs(fuzz::text_of(data, size), "fuzz");
  } catch (const UserError&) {
    return 0;
  }
  fuzz::require(parse_costs(print_costs(costs), "fuzz") == costs, "parse(print(x)) == x");
  return 0;
}
