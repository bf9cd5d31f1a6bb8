# cuDNN and cuBLAS as the CUDA Toolkit has them, else as PyTorch's Python packages have: those hold headers and libraries with a version in
# their names, but no names to link with. Sets CUDNN_INCLUDE_DIR, CUDNN_LIBRARY and the target CUDA::cublas where they are found.
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

if(NOT TARGET CUDA::cublas)
  find_path(CUBLAS_INCLUDE_DIR cublas_v2.h PATHS ${in_packages} PATH_SUFFIXES include)
  find_library(CUBLAS_LIBRARY NAMES cublas libcublas.so.13 libcublas.so.12 PATHS ${in_packages} PATH_SUFFIXES lib lib64)
  if(CUBLAS_INCLUDE_DIR AND CUBLAS_LIBRARY)
    add_library(CUDA::cublas SHARED IMPORTED)
    set_target_properties(CUDA::cublas PROPERTIES IMPORTED_LOCATION ${CUBLAS_LIBRARY})
    target_include_directories(CUDA::cublas SYSTEM INTERFACE ${CUBLAS_INCLUDE_DIR})
  endif()
endif()
