#include "engine/output_file.hpp"

namespace pawl {
namespace {

class PlainOutputFile final : public OutputFile {
 public:
  PlainOutputFile(LocalFiles& files, std::string path) : files_(files), path_(std::move(path)) {}
  Result<void> append(std::string_view bytes) override { return files_.append(path_, bytes); }

 private:
  LocalFiles& files_;
  const std::string path_;
};

}  // namespace

OpenOutputFile plain_output_files(LocalFiles& files) {
  return [&files](const std::string& path) { return std::make_unique<PlainOutputFile>(files, path); };
}

}  // namespace pawl
