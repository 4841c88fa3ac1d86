import { ConfigError } from '../config.ts'
import { AppError } from '../errors.ts'
import { DataDirInUseError } from '../platform/data-dir/data-dir.ts'
import { DatabaseOpenError } from '../platform/db/errors.ts'
import { causeChain, firstFailure } from '../platform/error-facts.ts'
import { LaterVersionError } from '../platform/version.ts'

/** Why a command failed. */
export interface Failure {
  readonly error: string
  readonly message: string
}

/** Describes a failure to an operator, without statements and their parameters. */
export function cliFailure(thrown: unknown): Failure {
  const error = firstFailure(thrown)
  const { message } = error instanceof Error ? error : { message: 'the command failed' }
  if (error instanceof AppError) return { error: error.code, message }
  if (error instanceof ConfigError) return { error: 'invalid_configuration', message }
  if (error instanceof DataDirInUseError) return { error: 'data_dir_in_use', message }
  if (error instanceof LaterVersionError) return { error: 'later_version', message }
  if (error instanceof DatabaseOpenError) return { error: 'unavailable', message }
  return { error: 'internal_error', message: causeChain(error).map(formatText).join(': ') }
}

/** The text of a failed statement contains its parameters, such as the hash of a password. */
function formatText(error: Error): string {
  return 'params' in error ? 'a statement failed' : error.message.replace(/\.$/, '')
}
