// PREFIX.idx of a token dataset: refused, or all of its tokens can be read. The first two bytes are
// the size of PREFIX.bin, little endian, the rest is the index.
#include <unistd.h>

#include <fstream>
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "train/indexed_dataset.h"

using namespace weft;

namespace {

void read_all(const std::string& prefix) {
  const IndexedDataset dataset(prefix);
  std::int64_t tokens = 0;
  std::vector<std::int64_t> row;
  for (std::int64_t d = 0; d < dataset.num_documents(); ++d) {
    for (std::int64_t s = dataset.document_start(d); s < dataset.document_start(d + 1); ++s) {
      row.resize(static_cast<std::size_t>(dataset.sequence_length(s)));
      dataset.read(s, 0, row);
      tokens += dataset.sequence_length(s);
    }
  }
  fuzz::require(tokens == dataset.num_tokens(), "the index accounts for every token");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const std::string prefix = "fuzz_index_" + std::to_string(getpid());
  std::ofstream(prefix + ".bin", std::ios::binary)
      << std::string(static_cast<std::size_t>(data[0]) + 256 * data[1], '\x01');
  std::ofstream(prefix + ".idx", std::ios::binary) << fuzz::text_of(data + 2, size - 2);
  try {
    read_all(prefix);
  } catch (const UserError&) {
  }
  unlink((prefix + ".bin").c_str());
  unlink((prefix + ".idx").c_str());
  return 0;
}
