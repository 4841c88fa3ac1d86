import { ConfigError } from './config.ts'
import { DataDirInUseError } from './data-dir.ts'
import { DatabaseOpenError } from './db/errors.ts'
import { AppError } from './errors.ts'

/** Why a command line was not carried out. */
export interface Failure {
  readonly error: string
  readonly message: string
}

/** What an operator is told of a failure: never a statement with its parameters. */
export function toldFailure(error: unknown): Failure {
  const { message } = error instanceof Error ? error : { message: 'the command failed' }
  if (error instanceof AppError) return { error: error.code, message }
  if (error instanceof ConfigError) return { error: 'invalid_configuration', message }
  if (error instanceof DataDirInUseError) return { error: 'data_dir_in_use', message }
  if (error instanceof DatabaseOpenError) return { error: 'unavailable', message }
  return { error: 'internal_error', message: chainOf(error).map(textOf).join(': ') }
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : []
}

/** The text of a failed statement holds its parameters, among them the hash of a password. */
function textOf(error: Error): string {
  return 'params' in error ? 'a statement failed' : error.message.replace(/\.$/, '')
}
