#include "schedule/schedule.h"

namespace weft {

bool is_compute_level(const Schedule& schedule) {
  for (const auto& cells : schedule.ranks) {
    for (const Cell& cell : cells) {
      const Action* action = std::get_if<Action>(&cell);
      if (action != nullptr && !is_compute(action->kind)) return false;
    }
  }
  return true;
}

}  // namespace weft
