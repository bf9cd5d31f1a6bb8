#pragma once

#include <cstddef>
#include <vector>

namespace syncopate {

/// A position, which is never negative, as the index of a container.
constexpr std::size_t at(int position) { return static_cast<std::size_t>(position); }

/// A vector whose elements are numbered by `int`, as ranks, nodes, clients and servers are.
template <typename T>
class Indexed : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  using std::vector<T>::operator[];
  explicit Indexed(int size) : std::vector<T>(at(size)) {}
  Indexed(int size, const T& value) : std::vector<T>(at(size), value) {}

  typename std::vector<T>::reference operator[](int position) { return std::vector<T>::operator[](at(position)); }
  typename std::vector<T>::const_reference operator[](int position) const { return std::vector<T>::operator[](at(position)); }
};

}  // namespace syncopate
