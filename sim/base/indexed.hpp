#pragma once

#include <cstddef>
#include <vector>

namespace syncopate {

/// Converts an int position, which must not be negative, to a container's index type.
constexpr std::size_t at(int position) { return static_cast<std::size_t>(position); }

/// A vector indexed by `int`: ranks, nodes, clients, servers.
template <typename T>
class Indexed : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  using std::vector<T>::operator[];
  explicit Indexed(int size) : std::vector<T>(at(size)) {}
  Indexed(int size, const T& value) : std::vector<T>(at(size), value) {}

  decltype(auto) operator[](int position) { return std::vector<T>::operator[](at(position)); }
  decltype(auto) operator[](int position) const { return std::vector<T>::operator[](at(position)); }
};

}  // namespace syncopate
