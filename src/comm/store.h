// The store in which ranks find each other. c10d's headers stay out of here: they are slow.
#pragma once

#include <memory>

namespace weft {

// A c10d TCPStore server on the loopback address, at a free port.
class StoreServer {
 public:
  StoreServer();
  ~StoreServer();

  int port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
