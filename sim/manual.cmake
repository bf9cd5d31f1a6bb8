# cmake -D HELP2MAN=... -D BIN=... -D OUT=... -D VERSION=... -P manual.cmake
# Writes the manual pages of the programs in BIN, and of simctl's subcommands, into the folder OUT.
set(pages capture nodeprobe syncopate-report syncopate-advice syncopate-papers syncopate-train
    simctl "simctl run" "simctl merge" "simctl solve" "simctl calibrate" "simctl explain" "simctl apply" "simctl export" "simctl advise" "simctl check" "simctl list" "simctl new"
    "simctl show" "simctl trace" "simctl trace import" "simctl trace ranks" "simctl trace synth" "simctl trace fit" "simctl trace compare" "simctl cluster"
    "simctl cluster fit" "simctl completion")
file(MAKE_DIRECTORY ${OUT})
foreach(page IN LISTS pages)
  separate_arguments(command UNIX_COMMAND "${page}")
  list(GET command 0 program)
  if(NOT EXISTS ${BIN}/${program})
    continue()
  endif()
  execute_process(COMMAND ${BIN}/${command} --help OUTPUT_VARIABLE help ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)  # such as capture where CUDA's libraries are missing
    continue()
  endif()
  # The first line that is no usage says what it does.
  string(REGEX REPLACE "^[Uu]sage:[^\n]*\n( +[^\n]*\n)*\n*" "" about "${help}")
  string(REGEX REPLACE "\n.*" "" about "${about}")
  string(REPLACE " " "-" file "${page}")
  execute_process(COMMAND ${HELP2MAN} --no-info --no-discard-stderr --version-string=${VERSION} "--name=${about}" -o ${OUT}/${file}.1 "${BIN}/${page}"
                  RESULT_VARIABLE failed ERROR_VARIABLE error)
  if(failed)
    message(WARNING "no manual page of ${page}: ${error}")
    continue()
  endif()
  # Defaults that are programs are found beside this one, wherever that is.
  string(REPLACE "-" "\\-" escaped_bin "${BIN}/")
  file(READ ${OUT}/${file}.1 text)
  string(REPLACE "${escaped_bin}" "" text "${text}")
  string(REPLACE "${BIN}/" "" text "${text}")
  file(WRITE ${OUT}/${file}.1 "${text}")
endforeach()
