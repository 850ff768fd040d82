#include "base/fault.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace pawl {
namespace {

Error error_of(Code code, int os_error = 0) { return Error{code, "failed", {}, {}, os_error}; }

TEST(FaultTest, AnErrnoOfTheMachineIsNotTheFaultOfTheWork) {
  for (const int os_error : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN, EIO, EROFS})
    EXPECT_EQ(fault_of_errno(os_error), Fault::machine) << os_error;
  for (const int os_error : {0, ENOENT, EACCES, E2BIG, ENOEXEC, ENOTDIR})
    EXPECT_EQ(fault_of_errno(os_error), Fault::work) << os_error;
}

TEST(FaultTest, ErrorsOfStorageAreTheFaultOfTheMachine) {
  EXPECT_EQ(fault_of(error_of(Code::disk_full, ENOSPC)), Fault::machine);
  EXPECT_EQ(fault_of(error_of(Code::write_failed)), Fault::machine);
  EXPECT_EQ(fault_of(error_of(Code::outcome_unknown, EIO)), Fault::machine);
  EXPECT_EQ(fault_of(error_of(Code::process_failed, EAGAIN)), Fault::machine);
}

TEST(FaultTest, AnInputIsTheFaultOfTheWorkUnlessTheMachineCantOpenIt) {
  EXPECT_EQ(fault_of(error_of(Code::input_unreadable, ENOENT)), Fault::work);
  EXPECT_EQ(fault_of(error_of(Code::input_unreadable, EMFILE)), Fault::machine);
  EXPECT_EQ(fault_of(error_of(Code::value_too_large)), Fault::work);
  EXPECT_EQ(fault_of(error_of(Code::output_lost)), Fault::work);
}

}  // namespace
}  // namespace pawl
