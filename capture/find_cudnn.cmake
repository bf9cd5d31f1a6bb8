# cuDNN and cuBLAS as the CUDA Toolkit has them, else as PyTorch's Python packages have: those hold headers and libraries with a version in
# their names, but no names to link with. Sets CUDNN_INCLUDE_DIR, CUDNN_LIBRARY and the targets CUDA::cublas and CUDA::cublasLt where they
# are found.
find_program(SYNCOPATE_PYTHON NAMES python3 python DOC "Whose packages may have cuDNN")
set(nvidia_packages "")
if(SYNCOPATE_PYTHON)
  execute_process(COMMAND ${SYNCOPATE_PYTHON} -c "import nvidia; print(*nvidia.__path__, sep=';')" OUTPUT_VARIABLE nvidia_packages
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(in_packages "")
foreach(folder ${nvidia_packages})
  list(APPEND in_packages ${folder}/cudnn ${folder}/cu13 ${folder}/cublas)
endforeach()

find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ENV CUDNN_ROOT ${in_packages} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_DIR}/../lib
             PATHS ENV CUDNN_ROOT ${in_packages} PATH_SUFFIXES lib lib64)

find_path(CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${in_packages} PATH_SUFFIXES include)
foreach(name IN ITEMS cublas cublasLt)
  if(TARGET CUDA::${name})
    continue()
  endif()
  find_library(${name}_LIBRARY NAMES ${name} lib${name}.so.13 lib${name}.so.12 PATHS ${in_packages} PATH_SUFFIXES lib lib64)
  if(CUBLAS_INCLUDE_DIR AND ${name}_LIBRARY)
    add_library(CUDA::${name} SHARED IMPORTED)
    set_target_properties(CUDA::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY})
    target_include_directories(CUDA::${name} SYSTEM INTERFACE ${CUBLAS_INCLUDE_DIR})
  endif()
endforeach()
