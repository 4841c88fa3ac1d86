import { Option } from 'commander'
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from '../../schemas/auth.ts'
import { RATE_LIMIT_PER_MINUTE_MAX } from '../../schemas/keys.ts'
import { ROLES, type Role, roleNamed } from '../http/access/caller.ts'
import { OPERATOR } from '../identity/audit/record.ts'
import { listedKey } from '../identity/keys/key.ts'
import type { KeyService } from '../identity/keys/service.ts'
import type { MemberService } from '../identity/teams/members.ts'
import { memberFields } from '../identity/teams/responses.ts'
import type { Team } from '../identity/teams/team-store.ts'
import type { TeamService } from '../identity/teams/teams.ts'
import { listAll } from '../platform/paging.ts'
import { ChoiceOption, ValueError } from './arguments.ts'
import { printable, table } from './print.ts'

/** Services that the commands work on. */
interface Domains {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
}

/** The result of a command, for a program and for a person. */
export interface Outcome {
  readonly json: object
  readonly text: string
}

/** The values that a command was called with. */
interface Values {
  /** The value of an option by its long name without dashes, or of the operand by its name. */
  of(name: string): string
}

export interface AdminCommand {
  /** Two words, such as `team create`. */
  readonly name: string
  /** Its action, in the third person. */
  readonly summary: string
  /** Facts to know before the call. */
  readonly notes?: string
  /** The value that follows the command, such as `KEY_ID`, and what it is. */
  readonly operand?: { readonly name: string; readonly about: string }
  /** Each is required. */
  readonly options: readonly Option[]
  run(domains: Domains, values: Values): Promise<Outcome>
}

/** An option that reads its value from standard input when the value is a single dash. */
export class SecretOption extends Option {}

const passwordOption = (name: string, what: string) =>
  new SecretOption(
    `--${name} <PASSWORD>`,
    `${what}, ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters; - reads it from ` +
      'standard input and drops a line break at the end',
  )
const signInOption = (name: string) =>
  new Option(`--${name} <EMAIL>`, 'email to sign in with; it must be new in all teams')
const TEAM = new Option('--team <TEAM_ID>', 'id of the team, as `team list` shows it')
const KEY = { name: 'KEY_ID', about: 'id of the key, as `key list` shows it' }
const DEFAULT_LIMIT = 'default'
const REPLICAS =
  'Over PostgreSQL, running replicas see the change within a second if REDIS_URL names their ' +
  'Redis, otherwise SPEC_CACHE_TTL_SECONDS later at the latest.'

const teamCreate: AdminCommand = {
  name: 'team create',
  summary: 'creates a team and its owner, who can sign in at once',
  options: [
    new Option('--name <NAME>', 'name of the team, for people'),
    signInOption('owner-email'),
    passwordOption('owner-password', 'password of the owner'),
  ],
  run: async ({ teams }, values) => {
    const { team, owner } = await teams.create({
      name: values.of('name'),
      ownerEmail: values.of('owner-email'),
      ownerPassword: values.of('owner-password'),
    })
    const name = printable(team.name)
    return {
      json: { ...teamFields(team), owner: memberFields(owner) },
      text: `Created the team ${team.id} ("${name}") with the owner ${owner.id} (${owner.email}).`,
    }
  },
}

const teamList: AdminCommand = {
  name: 'team list',
  summary: 'lists all teams, newest first',
  options: [],
  run: async ({ teams }) => {
    const all = (await teams.list()).map(teamFields)
    const rows = all.map(({ id, name, created_at }) => [id, name, created_at])
    return { json: { teams: all }, text: listing(['ID', 'NAME', 'CREATED'], rows, 'no team yet') }
  },
}

const userCreate: AdminCommand = {
  name: 'user create',
  summary: 'adds a user, who can sign in at once, to a team',
  options: [
    TEAM,
    signInOption('email'),
    passwordOption('password', 'password of the user'),
    new ChoiceOption('--role <ROLE>', 'role of the user', ROLES),
  ],
  run: async ({ teams, members }, values) => {
    const teamId = values.of('team')
    await teams.require(teamId)
    const role = readRole(values.of('role'))
    const user = { email: values.of('email'), password: values.of('password'), role }
    const member = await members.create({ userId: OPERATOR, teamId, role: null }, user)
    return {
      json: memberFields(member),
      text: `Created the ${role} ${member.id} (${member.email}) in the team ${teamId}.`,
    }
  },
}

const userList: AdminCommand = {
  name: 'user list',
  summary: 'lists the users of a team, newest first',
  options: [TEAM],
  run: async ({ teams, members }, values) => {
    const teamId = values.of('team')
    await teams.require(teamId)
    const found = await listAll((page) => members.list(teamId, page))
    const all = found.map(memberFields)
    const rows = all.map(({ id, email, role, created_at }) => [id, email, role, created_at])
    const header = ['ID', 'EMAIL', 'ROLE', 'CREATED']
    return { json: { members: all }, text: listing(header, rows, 'no user in this team') }
  },
}

const userResetPassword: AdminCommand = {
  name: 'user reset-password',
  summary: 'sets a new password and ends all sessions of the user',
  notes:
    'All refresh tokens of the user become void at once. An access token stays valid until it ' +
    'expires, at most an hour after it was issued.',
  options: [
    new Option('--email <EMAIL>', 'email of a user of any team'),
    passwordOption('password', 'the new password'),
  ],
  run: async ({ members }, values) => {
    const member = await members.resetPassword(OPERATOR, values.of('email'), values.of('password'))
    return {
      json: memberFields(member),
      text: `Set the password of ${member.id} (${member.email}) and ended all sessions.`,
    }
  },
}

const keyList: AdminCommand = {
  name: 'key list',
  summary: 'lists the active API keys of a team, newest first',
  options: [TEAM],
  run: async ({ teams, keys }, values) => {
    const teamId = values.of('team')
    await teams.require(teamId)
    const found = await listAll((page) => keys.list(teamId, page))
    const all = found.map(listedKey)
    const rows = all.map((key) => [
      key.id,
      key.name,
      key.prefix,
      key.scopes.join(','),
      key.environment ?? 'both',
      key.rate_limit_per_minute?.toString() ?? DEFAULT_LIMIT,
      key.last_used_at,
      key.created_at,
    ])
    const header = [
      'ID',
      'NAME',
      'PREFIX',
      'SCOPES',
      'ENVIRONMENT',
      'PER MINUTE',
      'LAST USED',
      'CREATED',
    ]
    return {
      json: { keys: all },
      text: listing(header, rows, 'no active key in this team'),
    }
  },
}

const keySetLimit: AdminCommand = {
  name: 'key set-limit',
  summary: 'sets the quota of an API key',
  notes: REPLICAS,
  operand: KEY,
  options: [
    new Option(
      '--per-minute <N>',
      `requests in any 60 seconds, a whole number from 1 to ${RATE_LIMIT_PER_MINUTE_MAX}, ` +
        `or "${DEFAULT_LIMIT}" for the quota of the service`,
    ).argParser((text) => {
      if (/^(\d{1,15}|default)$/.test(text)) return text
      throw new ValueError(`--per-minute must be a whole number or "${DEFAULT_LIMIT}"`)
    }),
  ],
  run: async ({ keys }, values) => {
    const keyId = values.of('KEY_ID')
    const text = values.of('per-minute')
    const perMinute = text === DEFAULT_LIMIT ? null : Number(text)
    const teamId = await keys.findTeam(keyId)
    await keys.update({ userId: OPERATOR, teamId }, keyId, { rateLimitPerMinute: perMinute })
    const quota = perMinute === null ? "the service's quota" : `${perMinute} requests per minute`
    return {
      json: { id: keyId, rate_limit_per_minute: perMinute },
      text: `The key ${keyId} has ${quota}.`,
    }
  },
}

const keyRevoke: AdminCommand = {
  name: 'key revoke',
  summary: 'revokes an API key for ever',
  notes: REPLICAS,
  operand: KEY,
  options: [],
  run: async ({ keys }, values) => {
    const keyId = values.of('KEY_ID')
    const teamId = await keys.findTeam(keyId)
    await keys.revoke({ userId: OPERATOR, teamId }, keyId)
    return { json: { id: keyId }, text: `Revoked the key ${keyId}.` }
  },
}

/** Everything that the operator can do. */
export const COMMANDS: readonly AdminCommand[] = [
  teamCreate,
  teamList,
  userCreate,
  userList,
  userResetPassword,
  keyList,
  keySetLimit,
  keyRevoke,
]

function teamFields({ id, name, createdAt }: Team) {
  return { id, name, created_at: createdAt.toISOString() }
}

function listing(
  header: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | null>>,
  none: string,
): string {
  return rows.length === 0 ? `There is ${none}.` : table(header, rows)
}

function readRole(text: string): Role {
  const role = roleNamed(text)
  if (role === null) throw new TypeError('the options of the command let an unknown role pass')
  return role
}
