import { type Command, CommanderError, type Help, Option } from 'commander'

/** The command line is not valid. */
export class UsageError extends Error {
  /** The call that prints the help for it. */
  readonly help: string

  constructor(message: string, help: string) {
    super(message)
    this.name = 'UsageError'
    this.help = help
  }
}

export class ValueError extends Error {}

/** An option that can be given more than once. Its value is an array. */
export class RepeatableOption extends Option {
  constructor(flags: string, description: string) {
    super(flags, `${description}; can be repeated`)
    this.argParser((value: string, previous: readonly string[] = []) => [...previous, value])
  }
}

/** An option whose value is a finite number, which can be negative. */
export class NumberOption extends Option {
  constructor(flags: string, description: string) {
    super(flags, description)
    this.argParser((text) => {
      const value = Number(text)
      if (text.trim() !== '' && Number.isFinite(value)) return value
      throw new ValueError(`${this.long} must be a number`)
    })
  }
}

/** An option that takes one of a few values. */
export class ChoiceOption extends Option {
  constructor(flags: string, description: string, values: readonly string[]) {
    super(flags, `${description}: ${values.join(', ')}`)
    this.argParser((text) => {
      if (values.includes(text)) return text
      throw new ValueError(`${this.long} must be one of ${values.join(', ')}`)
    })
  }
}

/** The mandatory option with the URL of a running service; its value has no slash at the end. */
export function urlOption(): Option {
  return new Option('--url <URL>', 'URL of the service, such as http://127.0.0.1:3000')
    .makeOptionMandatory()
    .argParser((text) => {
      const url = URL.parse(text)
      if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '')
      throw new ValueError('--url must be the URL of the service, such as http://127.0.0.1:3000')
    })
}

type Request =
  | { readonly kind: 'help'; readonly text: string }
  | {
      readonly kind: 'run'
      readonly command: Command
      /** Options by their long name without dashes, operands by their name. */
      readonly values: ReadonlyMap<string, unknown>
    }

const COLUMNS = 100
const NEGATIVE_NUMBER = /^-\.?\d/
/** The way to ask for help. The declarations of an option and of the hint share it. */
const HELP = '--help'

/**
 * Reads the arguments of a program. It is made anew for each call, because commander keeps values
 * in it.
 *
 * @param program its name is the call that runs it, such as `scoreline admin`
 * @param args what follows that call
 * @throws UsageError
 */
export function readArguments(program: Command, args: readonly string[]): Request {
  let text = ''
  const run: Command[] = []
  const help = `${formatCall(namedCommand(program, args))} ${HELP}`
  for (const command of [program, ...commandsBelow(program)]) {
    command
      .exitOverride()
      // Suggestions come from the commands that the help lists, here those of the groups.
      .showSuggestionAfterError(command.commands.every((one) => one.commands.length === 0))
      .helpOption(`-h, ${HELP}`, 'prints this page')
      .helpCommand(false)
      .configureHelp({ ...PAGE, showGlobalOptions: true })
      .configureOutput({
        writeOut: (part) => {
          text += part
        },
        writeErr: () => {},
        getOutHelpWidth: () => COLUMNS,
        getErrHelpWidth: () => COLUMNS,
      })
    if (command.commands.length === 0) command.action(() => void run.push(command))
  }
  try {
    checkOptions(program, args)
    program.parse(args, { from: 'user' })
  } catch (error) {
    if (error instanceof ValueError) throw new UsageError(error.message, help)
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.helpDisplayed') return { kind: 'help', text }
    throw new UsageError(formatMessage(error), help)
  }
  const [command] = run
  if (command === undefined) throw new UsageError('no command is given', help)
  return { kind: 'run', command, values: readValues(command) }
}

function formatMessage({ code, message }: CommanderError): string {
  // The code of a program that has commands and got none.
  if (code === 'commander.help') return 'no command is given'
  return message.replace(/^error: /, '').replaceAll('\n', ' ')
}

function readValues(command: Command): Map<string, unknown> {
  const values = new Map<string, unknown>()
  for (const [index, argument] of command.registeredArguments.entries()) {
    values.set(argument.name(), command.processedArgs[index])
  }
  for (const one of lineage(command)) {
    for (const option of one.options) {
      if (option.long == null) continue
      const value: unknown = one.getOptionValue(option.attributeName())
      // Commander keeps `--no-x` as a false `x`.
      values.set(option.long.slice(2), option.negate ? value === false : value)
    }
  }
  return values
}

/**
 * Checks what commander lets pass: an option that is given twice, and an option whose value is
 * missing, so that commander would take the next option for the value.
 *
 * @throws ValueError
 */
function checkOptions(program: Command, args: readonly string[]): void {
  const seen = new Set<string>()
  for (const { name, option, hasOwnValue, value } of optionsIn(program, args)) {
    if (option === undefined) {
      // The message must not repeat the value, which can be a password.
      if (hasOwnValue) throw new ValueError(`unknown option '${name}'`)
      continue
    }
    if (hasOwnValue && !option.required) throw new ValueError(`${name} does not take a value`)
    if (seen.has(name) && option.required && !(option instanceof RepeatableOption)) {
      throw new ValueError(`${name} is given more than once`)
    }
    seen.add(name)
    if (hasOwnValue || !option.required || value === undefined || !/^-./.test(value)) continue
    if (option instanceof NumberOption && NEGATIVE_NUMBER.test(value)) continue
    throw new ValueError(`${name} has no value; write ${name}=-x for a value that begins with -`)
  }
}

interface GivenOption {
  /** With its dashes. */
  readonly name: string
  /** Undefined for an option that no command declares. */
  readonly option: Option | undefined
  /** True if the value stands behind an equals sign. */
  readonly hasOwnValue: boolean
  /** The next argument. */
  readonly value: string | undefined
}

/** The long options among the arguments. One name means the same in each command of a program. */
function optionsIn(program: Command, args: readonly string[]): GivenOption[] {
  const declared = new Map<string, Option>()
  for (const command of [program, ...commandsBelow(program)]) {
    for (const option of command.options) if (option.long != null) declared.set(option.long, option)
  }
  const given: GivenOption[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') break
    if (!arg.startsWith('--')) continue
    const [name = ''] = arg.split('=', 1)
    const option = declared.get(name)
    const hasOwnValue = arg.includes('=')
    given.push({ name, option, hasOwnValue, value: args[index + 1] })
    if (option?.required && !hasOwnValue) index++
  }
  return given
}

/** The command that the first words name, as far as they name one. */
function namedCommand(program: Command, args: readonly string[]): Command {
  let command = program
  for (const word of args.filter((arg) => !arg.startsWith('-'))) {
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) break
    command = next
  }
  return command
}

/** Tells how the command is called, such as `scoreline admin team list`. */
function formatCall(command: Command): string {
  return lineage(command)
    .map((one) => one.name())
    .reverse()
    .join(' ')
}

/** The command and those it belongs to. */
function lineage(command: Command): Command[] {
  return command.parent === null ? [command] : [command, ...lineage(command.parent)]
}

function commandsBelow(program: Command): Command[] {
  return program.commands.flatMap((command) => [command, ...commandsBelow(command)])
}

/** The way a page of help differs from the page that commander makes. */
const PAGE: Partial<Help> = {
  /** With everything that must be given. */
  commandUsage: (command) => {
    const parts = [
      ...(command.commands.length > 0 ? ['COMMAND'] : []),
      ...command.registeredArguments.map((argument) => argument.name()),
      ...command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags),
    ]
    return [formatCall(command), ...parts, '[OPTIONS]'].join(' ')
  },
  /** Groups such as `team` have no page worth a look: their commands are listed instead. */
  visibleCommands: (command) => commandsBelow(command).filter((one) => one.commands.length === 0),
  subcommandTerm: (command) =>
    lineage(command)
      .slice(0, -1)
      .map((one) => one.name())
      .reverse()
      .join(' '),
}
