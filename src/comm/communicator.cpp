#include "comm/communicator.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace weft {

void all_reduce_in_rank_order(Group& group, at::Tensor tensor) {
  const int size = group.size();
  if (size == 1 || tensor.numel() == 0) return;
  const at::Tensor flat = tensor.contiguous().view(-1);
  const std::int64_t numel = flat.numel();
  const std::int64_t slice = (numel + size - 1) / size;
  // Member m sums elements [begin(m), begin(m + 1)); the last ones may have fewer, or none.
  const auto begin = [&](int member) { return std::min<std::int64_t>(member * slice, numel); };

  std::vector<std::int64_t> sent(size);
  for (int member = 0; member < size; ++member) sent[member] = begin(member + 1) - begin(member);
  const std::int64_t own = sent[group.rank()];
  const at::Tensor parts = at::empty({size, own}, flat.options());
  group.all_to_all(parts.view(-1), flat, std::vector<std::int64_t>(size, own), sent)->wait();

  const at::Tensor padded = at::zeros({slice}, flat.options());
  if (own > 0) {
    at::Tensor sum = padded.narrow(0, 0, own);
    sum.copy_(parts[0]);
    for (int member = 1; member < size; ++member) sum.add_(parts[member]);
  }
  const at::Tensor sums = at::empty({size, slice}, flat.options());
  group.all_gather(sums, padded)->wait();
  tensor.copy_(sums.view(-1).narrow(0, 0, numel).view(tensor.sizes()));
}

}  // namespace weft
