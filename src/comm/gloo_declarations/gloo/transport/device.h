#pragma once

namespace gloo::transport {

class Device {
 public:
  virtual ~Device() = default;
};

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};

}  // namespace gloo::transport
