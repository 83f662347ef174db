// Whole files in and out.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The file's bytes. `flag` names where the path came from (`--costs`). Throws UserError if there is
// no such file, it is a directory or may not be read, RuntimeFault if reading fails.
std::string read_file(const std::string& path, std::string_view flag);

// The text without the mark of UTF-8 that some editors put before it.
std::string_view without_byte_order_mark(std::string_view text);

// Replaces the file as a whole or not at all: written beside it, flushed to the disk, then renamed,
// through symbolic links.
// What is no regular file (a terminal, a pipe, /dev/null) is written to as it is. Throws UserError
// if the place does not exist or may not be written to, RuntimeFault if the disk is full or fails.
void write_file(const std::string& path, std::string_view contents, std::string_view flag);

// Writes everything to a file descriptor. Throws RuntimeFault naming `what`.
void write_all(int file_descriptor, std::string_view contents, std::string_view what);

}  // namespace weft
