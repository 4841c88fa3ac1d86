/** Imported before a scenario: what it can't run with is said in one sentence, with exit code 2. */
import { UsageError } from './usage-error.ts'

process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS')
  console.error(isUsage ? error.message : error)
  process.exit(isUsage ? 2 : 1)
})
