#include "train/safetensors.h"

#include <ATen/Functions.h>

#include "train/support.h"

namespace weft {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

std::string file_of(const std::string& header, const std::string& data) {
  return bytes_of(static_cast<std::uint64_t>(header.size())) + header + data;
}

std::string refusal(const std::string& bytes) {
  TempDir directory;
  write_file(directory.file("t"), bytes);
  return message_of([&] { SafetensorsFile file(directory.file("t")); });
}

TEST(Safetensors, ReadsBytesBuiltByHand) {
  TempDir directory;
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},)"
                             R"("a":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]},)"
                             R"("none":{"dtype":"F64","shape":[0,3],"data_offsets":[10,10]}})";
  write_file(directory.file("t"),
             file_of(header, std::string("\x80\x3F", 2) + bytes_of(1.5f) + bytes_of(-2.0f)));
  at::Tensor b;
  {
    const SafetensorsFile file(directory.file("t"));
    EXPECT_EQ(file.metadata().at("format"), "pt");
    EXPECT_EQ(file.entries().size(), 3u);
    EXPECT_EQ(file.tensor("a").scalar_type(), at::kBFloat16);
    EXPECT_EQ(file.tensor("a").item<float>(), 1.0f);
    EXPECT_THAT(file.tensor("none").sizes(), ElementsAre(0, 3));
    b = file.tensor("b");
  }
  EXPECT_EQ(b[0].item<float>(), 1.5f);  // after the file object is gone
  EXPECT_EQ(b[1].item<float>(), -2.0f);
}

TEST(Safetensors, WritesWhatTheFormatSays) {
  TempDir directory;
  save_safetensors(directory.file("t"), {{"x", at::full({1}, 7, at::kLong)}});
  std::string header = R"({"x":{"data_offsets":[0,8],"dtype":"I64","shape":[1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(directory.file("t")), file_of(header, bytes_of(std::int64_t{7})));
}

TEST(Safetensors, TensorsComeBack) {
  TempDir directory;
  const NamedTensors tensors = {
      {"f32", at::randn({3, 5})},
      {"f64", at::randn({2}, at::kDouble)},
      {"bf16", at::randn({3}).to(at::kBFloat16)},
      {"i64", at::arange(7, at::kLong)},
      {"strided", at::randn({4, 6}).t().slice(0, 1, 3)},
      {"scalar", at::scalar_tensor(2.5)},
      {"empty", at::empty({0, 2})},
  };
  save_safetensors(directory.file("t"), tensors, {{"step", "3"}});
  const SafetensorsFile file(directory.file("t"));
  EXPECT_EQ(file.metadata().at("step"), "3");
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(at::equal(file.tensor(name), tensor)) << name;
    EXPECT_EQ(file.tensor(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(file.tensor(name).sizes(), tensor.sizes()) << name;
  }
  EXPECT_THAT(message_of([&] { file.tensor("f16"); }), HasSubstr("no tensor f16"));
}

TEST(Safetensors, HeadersThatDoNotAddUpAreRefused) {
  const std::string data(8, 'x');
  const auto with = [&](const std::string& header) { return refusal(file_of(header, data)); };
  EXPECT_THAT(refusal("1234567"), HasSubstr("7 bytes"));
  EXPECT_THAT(refusal(bytes_of(UINT64_MAX) + "{}"),
              HasSubstr("header length = 18446744073709551615"));
  EXPECT_THAT(refusal(bytes_of(std::uint64_t{3}) + "{}"), HasSubstr("header length = 3"));
  EXPECT_THAT(with("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(with("[]"), HasSubstr("is no JSON object"));
  EXPECT_THAT(with(R"({"a":1})"), HasSubstr("is no JSON object"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})"),
              HasSubstr("a.dtype = \"F31\""));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})"), HasSubstr("a.shape"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
              HasSubstr("a.shape = [-2]"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
              HasSubstr("does not make the 8 bytes"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})"),
              HasSubstr("does not make the 8 bytes"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"),
              HasSubstr("a.data_offsets = [8,0]"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})"),
              HasSubstr("within the 8 bytes"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("the tensors end at byte"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("neither overlap nor leave gaps"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("neither overlap nor leave gaps"));
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                   R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
              HasSubstr("tensor a stands there twice"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  TempDir directory;
  save_safetensors(directory.file("t"), {{"x", at::ones({2})}, {"y", at::ones({1}, at::kLong)}});
  const std::string bytes = read_file(directory.file("t"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(refusal(bytes.substr(0, size)), HasSubstr("safetensors: ")) << size;
  }
}

TEST(Safetensors, AFailedWriteKeepsTheOlderFile) {
  testing::SmallDisk disk(128 << 10);
  WEFT_NEEDS_DISK(disk);
  save_safetensors(disk.file("t"), {{"x", at::ones({2})}});
  EXPECT_THAT(message_of<RuntimeFault>(
                  [&] { save_safetensors(disk.file("t"), {{"x", at::ones({1 << 20})}}); }),
              HasSubstr("No space left on device"));
  EXPECT_TRUE(at::equal(SafetensorsFile(disk.file("t")).tensor("x"), at::ones({2})));
  const testing::fs::directory_iterator left(disk.path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "the older file alone";
}

}  // namespace
}  // namespace weft
