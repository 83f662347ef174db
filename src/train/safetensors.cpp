#include "train/safetensors.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

using nlohmann::json;

// The reference refuses longer headers.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kLengthBytes = 8;

struct TypeName {
  const char* name;
  at::ScalarType type;
};

constexpr std::array kTypes = {
    TypeName{"F64", at::kDouble},    TypeName{"F32", at::kFloat}, TypeName{"F16", at::kHalf},
    TypeName{"BF16", at::kBFloat16}, TypeName{"I64", at::kLong},  TypeName{"I32", at::kInt},
    TypeName{"I16", at::kShort},     TypeName{"I8", at::kChar},   TypeName{"U8", at::kByte},
    TypeName{"BOOL", at::kBool},
};

const char* type_name(at::ScalarType type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.name;
  }
  throw InternalError("no safetensors type for " + std::string(c10::toString(type)));
}

[[noreturn]] void refuse(const std::string& path, const std::string& found,
                         const std::string& why) {
  throw UserError(Violation{"safetensors", path + ": " + found, why});
}

// Refuses a key that stands twice, which the parser would overwrite silently.
json parse_header(const std::string& path, const char* text, std::int64_t length) {
  std::set<std::string> keys;
  std::string twice;
  const auto callback = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth == 1 && event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.insert(key).second) twice = key;
    }
    return true;
  };
  json header;
  try {
    header = json::parse(text, text + length, callback);
  } catch (const json::exception& error) {
    refuse(path, "header", std::string("is no JSON: ") + error.what());
  }
  if (!header.is_object()) refuse(path, "header", "is no JSON object");
  if (!twice.empty()) refuse(path, "header", "tensor " + twice + " stands there twice");
  return header;
}

std::vector<std::int64_t> integers(const std::string& path, const std::string& name,
                                   const json& object, const char* key) {
  const std::string field = name + "." + key;
  if (!object.contains(key) || !object[key].is_array()) {
    refuse(path, field, "must be an array of integers");
  }
  std::vector<std::int64_t> values;
  for (const json& value : object[key]) {
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      refuse(path, field + " = " + object[key].dump(), "must be integers that are not negative");
    }
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

at::ScalarType read_type(const std::string& path, const std::string& name, const json& object) {
  const std::string found = object.contains("dtype") ? object["dtype"].dump() : "nothing";
  std::string allowed;
  for (const TypeName& known : kTypes) {
    if (object.contains("dtype") && object["dtype"] == known.name) return known.type;
    if (!allowed.empty()) allowed += ", ";
    allowed += known.name;
  }
  refuse(path, name + ".dtype = " + found, "allowed: " + allowed);
}

// Bytes of a shape, or nothing if they exceed `limit`.
bool fits(const SafetensorsFile::Entry& entry, std::int64_t limit, std::int64_t* bytes) {
  *bytes = static_cast<std::int64_t>(c10::elementSize(entry.type));
  if (std::count(entry.shape.begin(), entry.shape.end(), 0) > 0) *bytes = 0;
  for (const std::int64_t size : entry.shape) {
    if (*bytes != 0 && size > limit / *bytes) return false;
    *bytes *= size;
  }
  return *bytes <= limit;
}

json describe(const NamedTensors& sorted, const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : sorted) {
    weft_assert(!header.contains(name), "safetensors: a name given twice");
    const auto end = offset + static_cast<std::int64_t>(tensor.nbytes());
    header[name] = {{"dtype", type_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  return header;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : path_(path), file_(std::make_shared<MappedFile>(path)) {
  const std::int64_t length = read_header_length();
  read_header(length);
  check_offsets(kLengthBytes + length);
}

std::int64_t SafetensorsFile::read_header_length() const {
  const std::uint64_t size = file_->bytes().size();
  if (size < kLengthBytes) {
    refuse(path_, std::to_string(size) + " bytes", "the length of the header alone has 8");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file_->bytes().data(), sizeof length);
  if (length > kMaxHeaderBytes || length > size - kLengthBytes) {
    refuse(path_, "header length = " + std::to_string(length),
           "at most " + std::to_string(std::min(kMaxHeaderBytes, size - kLengthBytes)) +
               " in a file of " + std::to_string(size) + " bytes");
  }
  return static_cast<std::int64_t>(length);
}

void SafetensorsFile::read_header(std::int64_t length) {
  const char* text = reinterpret_cast<const char*>(file_->bytes().data()) + kLengthBytes;
  const json header = parse_header(path_, text, length);
  const std::int64_t start = kLengthBytes + length;
  const std::int64_t data_bytes = static_cast<std::int64_t>(file_->bytes().size()) - start;
  for (const auto& [name, object] : header.items()) {
    if (!object.is_object()) refuse(path_, name, "is no JSON object");
    if (name == "__metadata__") {
      for (const auto& [key, value] : object.items()) {
        if (!value.is_string()) refuse(path_, "__metadata__." + key, "must be a string");
        metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    Entry entry;
    entry.type = read_type(path_, name, object);
    entry.shape = integers(path_, name, object, "shape");
    const std::vector<std::int64_t> offsets = integers(path_, name, object, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
      refuse(path_, name + ".data_offsets = " + object["data_offsets"].dump(),
             "a begin and an end within the " + std::to_string(data_bytes) + " bytes of data");
    }
    std::int64_t bytes = 0;
    if (!fits(entry, data_bytes, &bytes) || bytes != offsets[1] - offsets[0]) {
      refuse(path_,
             name + ".shape = " + object["shape"].dump() + ", dtype " + object["dtype"].dump(),
             "does not make the " + std::to_string(offsets[1] - offsets[0]) +
                 " bytes of its data_offsets");
    }
    entry.begin = start + offsets[0];
    entry.end = start + offsets[1];
    entries_[name] = std::move(entry);
  }
}

void SafetensorsFile::check_offsets(std::int64_t data_start) const {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> spans;
  for (const auto& [name, entry] : entries_) spans.emplace_back(entry.begin, entry.end, name);
  std::sort(spans.begin(), spans.end());
  std::int64_t end = data_start;
  for (const auto& [from, to, name] : spans) {
    if (from != end) {
      refuse(path_, name + " begins at byte " + std::to_string(from),
             "the data before it end at byte " + std::to_string(end) +
                 "; tensors neither overlap nor leave gaps");
    }
    end = to;
  }
  if (end != static_cast<std::int64_t>(file_->bytes().size())) {
    refuse(path_, std::to_string(file_->bytes().size()) + " bytes",
           "the tensors end at byte " + std::to_string(end));
  }
}

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::string there;
    for (const auto& [known, entry] : entries_) {
      if (there.size() > 200) break;
      if (!there.empty()) there += ", ";
      there += known;
    }
    refuse(path_, "no tensor " + name, "it holds: " + there);
  }
  const Entry& entry = found->second;
  if (entry.begin == entry.end) return at::empty(entry.shape, entry.type);
  // The mapping is read-only; whoever writes to the tensor faults.
  auto* data = const_cast<std::byte*>(file_->bytes().data() + entry.begin);
  const auto keep = file_;
  at::Tensor tensor = at::from_blob(data, entry.shape, [keep](void*) {}, at::dtype(entry.type));
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(entry.type) == 0;
  if (aligned) return tensor;
  at::Tensor copy = at::empty(entry.shape, entry.type);
  std::memcpy(copy.data_ptr(), data, static_cast<std::size_t>(entry.end - entry.begin));
  return copy;
}

void write_safetensors(FileWriter& writer, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  NamedTensors sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(b.second.element_size(), a.first) <
           std::make_tuple(a.second.element_size(), b.first);
  });
  std::string header = describe(sorted, metadata).dump();
  // Padded with spaces so that the data are aligned.
  header.resize((header.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  const std::uint64_t length = header.size();
  writer.write(&length, sizeof length);
  writer.write(header);
  for (const auto& [name, tensor] : sorted) {
    const at::Tensor contiguous = tensor.detach().to(at::kCPU).contiguous();
    writer.write(contiguous.data_ptr(), contiguous.nbytes());
  }
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  AtomicFile file{std::filesystem::path(path)};
  write_safetensors(file.writer(), tensors, metadata);
  file.commit();
}

}  // namespace weft
