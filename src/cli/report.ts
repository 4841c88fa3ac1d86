/** Texts that a command prints, and the exit code of its process. */
export interface Report {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Things that a command gets from its process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The way the command is called, such as `scoreline admin`. */
  readonly call: string
  /** Runs when the embedded database dies. */
  readonly onCrash: (error: Error) => void
}

export const DONE = 0
export const REFUSED = 1
export const WRONG_USAGE = 2

/** The last line of each page of help. */
export const EXIT_CODES =
  'Exit code: 0 done; 1 refused or failed, with the reason on standard error; 2 wrong usage.'
