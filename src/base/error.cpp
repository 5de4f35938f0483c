// Exit statuses of error codes (the command line's contract).
#include "base/error.h"

namespace longhaul {

int exit_status(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_config:
            return 2;
        case ErrorCode::bad_data:
            return 3;
        case ErrorCode::training_failed:
        case ErrorCode::internal:
            return 4;
    }
    return 4;
}

}  // namespace longhaul
