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

TrainConfig outputs(const std::string& save, const std::string& metrics,
                    const std::string& timeline, const std::string& save_gradients) {
  TrainConfig train;
  train.save = save;
  train.metrics = metrics;
  train.timeline = timeline;
  train.save_gradients = save_gradients;
  return train;
}

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
  EXPECT_THAT(refused(outputs(path("a/b/c"), path("text"), path("t"), path("g"))), ElementsAre());
  EXPECT_THAT(refused(outputs("", "/dev/null", "", path("link"))), ElementsAre());
}

TEST_F(Outputs, AllThatCannotBeWrittenIsToldAtOnce) {
  EXPECT_THAT(refused(outputs(path("text"), path("none/m.jsonl"), "", path(""))),
              ElementsAre(HasSubstr("--save " + path("text") + ": " + path("text") + " is a file"),
                          HasSubstr("--metrics " + path("none/m.jsonl") + ": there is no folder"),
                          HasSubstr("is a folder, a file is needed")));
}

TEST_F(Outputs, AFolderBelowAFileCannotBeMade) {
  EXPECT_THAT(refused(outputs(path("text/deeper/still"), "", "", "")),
              ElementsAre(HasSubstr("is a file")));
}

TEST_F(Outputs, ANameThatIsTooLongIsRefused) {
  EXPECT_THAT(refused(outputs("", path(std::string(300, 'a')), "", "")),
              ElementsAre(HasSubstr("File name too long")));
}

TEST_F(Outputs, ALinkStandsForWhatItLeadsTo) {
  fs::create_symlink("new", path("to_new"));
  fs::create_symlink("none/new", path("to_nowhere"));
  EXPECT_THAT(refused(outputs("", path("to_new"), "", path("to_new"))), ElementsAre());
  EXPECT_THAT(refused(outputs(path("to_new"), path("to_nowhere"), "", "")),
              ElementsAre(HasSubstr("to_new is a link to nothing"),
                          HasSubstr("there is no folder " + path("none"))));
  EXPECT_THAT(refused(outputs(path("to_new/deeper"), "", "", "")),
              ElementsAre(HasSubstr("to_new is a link to nothing")));
}

// Access rights allow root everything; the file system does not.
TEST_F(Outputs, WhereNoNamesCanBeMadeIsRefusedBeforeTheRun) {
  EXPECT_THAT(
      refused(outputs("/proc/foo", "/proc/m.jsonl", "/proc/t.json", "/proc/g")),
      ElementsAre(HasSubstr("--save /proc/foo: the folder /proc may not be written to"),
                  HasSubstr("--metrics /proc/m.jsonl: the folder /proc may not be written to"),
                  HasSubstr("--timeline /proc/t.json: the folder /proc may not be written to"),
                  HasSubstr("--save-gradients /proc/g: the folder /proc may not be written to")));
  EXPECT_THAT(refused(outputs("/proc", "", "", "")), ElementsAre(HasSubstr("--save /proc: ")));
}

TEST_F(Outputs, APipeIsNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused(outputs("", "", "", path("pipe"))),
              ElementsAre(HasSubstr("is no regular file")));
  EXPECT_THAT(refused(outputs("", path("pipe"), "", "")), ElementsAre());
}

}  // namespace
}  // namespace weft
