// A schedule as CSV: refused, or a plan that prints and reads back as itself, that verifiers take
// apart, and that can be simulated if they find nothing.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "passes/live.h"
#include "passes/lower_transfers.h"
#include "passes/verify.h"
#include "schedule/csv.h"
#include "simulate/simulate.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Schedule schedule;
  try {
    schedule = parse_csv(fuzz::text_of(data, size), "fuzz");
  } catch (const UserError&) {
    return 0;
  }
  fuzz::require(parse_csv(print_csv(schedule), "fuzz") == schedule, "parse(print(x)) == x");
  const bool runs = verify_order(schedule).empty();
  if (!is_compute_level(schedule)) {
    verify_transfers(schedule);
    return 0;
  }
  count_live(schedule);
  if (runs) {
    const Schedule transfers = lower_transfers(schedule, true);
    fuzz::require(verify_transfers(transfers).empty(), "what is lowered passes");
    simulate(schedule, Costs{});
    return 0;
  }
  try {
    simulate(schedule, Costs{});
  } catch (const PlanError&) {
  }
  return 0;
}
