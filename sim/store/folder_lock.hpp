#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace syncopate {

/// Says which runs are at work in a folder, so that they do not spoil each other's files. A run ceases to be at work when its process ends,
/// in whatever way. Where the file system has no locks, it looks as if nobody else were at work.
class FolderLock {
 public:
  /// Enters the folder. Waits while another run has entered and not called `share`. Throws UsageError after a minute, and OutputError if
  /// the folder's file .lock cannot be opened.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The process of another run that is at work in the folder; 0 if its id is unknown, as on another machine.
  std::optional<int> other() const;
  /// This run is at work from now on. Lets others enter.
  void share() const;

 private:
  int file_;
};

/// " (process 123)", for FolderLock::other.
std::string describe_process(int process);

}  // namespace syncopate
