#include "train/outputs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Outputs : public testing::Test {
 protected:
  Outputs() {
    fs::create_directories(folder_);
    std::ofstream(path("text")) << "text";
  }
  ~Outputs() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::vector<std::string> refused(const TrainConfig& train) const {
    std::vector<std::string> lines;
    try {
      require_writable_outputs(train);
    } catch (const UserError& error) {
      for (const Violation& v : error.violations()) lines.push_back(v.found + ": " + v.message);
    }
    return lines;
  }

 private:
  std::string folder_ = testing::TempDir() + "weft_outputs_" + std::to_string(getpid());
};

TEST_F(Outputs, NewNamesAndFilesThatAreReplacedPass) {
  fs::create_symlink(path("text"), path("link"));
  EXPECT_THAT(refused({.save = path("a/b/c"),
                       .metrics = path("text"),
                       .timeline = path("t"),
                       .save_gradients = path("g")}),
              ElementsAre());
  EXPECT_THAT(refused({.metrics = "/dev/null", .save_gradients = path("link")}), ElementsAre());
}

TEST_F(Outputs, AllThatCannotBeWrittenIsToldAtOnce) {
  EXPECT_THAT(
      refused({.save = path("text"), .metrics = path("none/m.jsonl"), .save_gradients = path("")}),
      ElementsAre(HasSubstr("--save " + path("text") + ": " + path("text") + " is a file"),
                  HasSubstr("--metrics " + path("none/m.jsonl") + ": there is no folder"),
                  HasSubstr("is a folder, a file is needed")));
}

TEST_F(Outputs, AFolderBelowAFileCannotBeMade) {
  EXPECT_THAT(refused({.save = path("text/deeper/still")}), ElementsAre(HasSubstr("is a file")));
}

TEST_F(Outputs, ANameThatIsTooLongIsRefused) {
  EXPECT_THAT(refused({.metrics = path(std::string(300, 'a'))}),
              ElementsAre(HasSubstr("File name too long")));
}

TEST_F(Outputs, TwoOutputsShareNoFile) {
  fs::create_symlink(path("text"), path("link"));
  EXPECT_THAT(refused({.metrics = path("text"), .save_gradients = path("link")}),
              ElementsAre(HasSubstr("is where --metrics goes too")));
  EXPECT_THAT(refused({.metrics = path("s.json"), .timeline = path("./s")}),
              ElementsAre(HasSubstr("is where --metrics goes too")));
}

TEST_F(Outputs, APipeIsNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused({.save_gradients = path("pipe")}),
              ElementsAre(HasSubstr("is no regular file")));
  EXPECT_THAT(refused({.metrics = path("pipe")}), ElementsAre());
}

}  // namespace
}  // namespace weft
