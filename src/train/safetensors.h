// The safetensors format (huggingface/safetensors, format section of its README): length of the
// header as u64, header as JSON, tensors one after the other without a gap.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/files.h"

namespace weft {

// A mapped file, its header checked in full: types, shapes, sizes and offsets agree with each other
// and with the size of the file. Errors: UserError naming file, tensor, value found, what is
// allowed.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  struct Entry {
    at::ScalarType type = at::kFloat;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;  // byte of the file
    std::int64_t end = 0;
  };

  const std::string& path() const { return path_; }
  // By name, bytewise.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool contains(const std::string& name) const { return entries_.contains(name); }

  // A CPU tensor that reads the mapping and keeps it alive; not to be written to. Errors: UserError
  // naming file, name and what is there if there is no such tensor.
  at::Tensor tensor(const std::string& name) const;

 private:
  std::int64_t read_header_length() const;
  void read_header(std::int64_t length);
  void check_offsets(std::int64_t data_start) const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Writes the tensors, of any device and stride, through `writer`: the larger types first, then by
// name, as the reference does. Errors: InternalError for a type that the format lacks or a name
// given twice.
void write_safetensors(FileWriter& writer, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The same as a file that appears only when it is complete.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
