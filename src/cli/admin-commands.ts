import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from '../../schemas/auth.ts'
import { RATE_LIMIT_PER_MINUTE_MAX } from '../../schemas/keys.ts'
import { OPERATOR } from '../audit/record.ts'
import { ROLES, type Role } from '../auth/caller.ts'
import { listedKey } from '../keys/answers.ts'
import type { KeyService } from '../keys/service.ts'
import { memberFields } from '../members/answers.ts'
import type { MemberService } from '../members/service.ts'
import type { Team, TeamService } from '../teams/service.ts'
import { printable, table } from './print.ts'
import type { Arguments, Syntax } from './usage.ts'

/** What the commands work on. */
export interface Domains {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
}

/** What a command has done, for a program and for a person. */
export interface Outcome {
  readonly json: object
  readonly text: string
}

export interface Command extends Syntax {
  run(domains: Domains, args: Arguments): Promise<Outcome>
}

const PASSWORD = {
  value: 'PASSWORD',
  about:
    `${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters; - reads it from standard input, ` +
    'where a line break at its end does not count',
  isSecret: true,
}
const TEAM = { value: 'TEAM_ID', about: 'id of the team, as `team list` shows it' }
const EVERYTHING = {}
const DEFAULT_LIMIT = 'default'
const REPLICAS =
  'Over PostgreSQL, replicas that run see it within a second where REDIS_URL names their Redis, ' +
  'else SPEC_CACHE_TTL_SECONDS later at the latest.'

const teamCreate: Command = {
  name: 'team create',
  summary: 'creates a team and its owner, who can sign in at once',
  options: {
    name: { value: 'NAME', about: 'name of the team, for people' },
    'owner-email': {
      value: 'EMAIL',
      about: 'what the owner signs in with; a user of any team may not have it already',
    },
    'owner-password': PASSWORD,
  },
  run: async ({ teams }, args) => {
    const { team, owner } = await teams.create({
      name: args.of('name'),
      ownerEmail: args.of('owner-email'),
      ownerPassword: args.of('owner-password'),
    })
    const name = printable(team.name)
    return {
      json: { ...teamFields(team), owner: memberFields(owner) },
      text: `Created the team ${team.id} ("${name}") with the owner ${owner.id} (${owner.email}).`,
    }
  },
}

const teamList: Command = {
  name: 'team list',
  summary: 'lists all teams, newest first',
  options: {},
  run: async ({ teams }) => {
    const all = (await teams.list()).map(teamFields)
    const rows = all.map(({ id, name, created_at }) => [id, name, created_at])
    return { json: { teams: all }, text: listing(['ID', 'NAME', 'CREATED'], rows, 'no team yet') }
  },
}

const userCreate: Command = {
  name: 'user create',
  summary: 'adds a user to a team, who can sign in at once',
  options: {
    team: TEAM,
    email: {
      value: 'EMAIL',
      about: 'what the user signs in with; a user of any team may not have it already',
    },
    password: PASSWORD,
    role: {
      value: 'ROLE',
      about: `one of ${ROLES.join(', ')}`,
      takes: { form: new RegExp(`^(${ROLES.join('|')})$`), told: `one of ${ROLES.join(', ')}` },
    },
  },
  run: async ({ teams, members }, args) => {
    const teamId = args.of('team')
    await teams.require(teamId)
    const role = roleOf(args.of('role'))
    const order = { email: args.of('email'), password: args.of('password'), role }
    const member = await members.create({ userId: OPERATOR, teamId, role: null }, order)
    return {
      json: memberFields(member),
      text: `Created the ${role} ${member.id} (${member.email}) in the team ${teamId}.`,
    }
  },
}

const userList: Command = {
  name: 'user list',
  summary: 'lists the users of a team, newest first',
  options: { team: TEAM },
  run: async ({ teams, members }, args) => {
    const teamId = args.of('team')
    await teams.require(teamId)
    const { items } = await members.list(teamId, EVERYTHING)
    const all = items.map(memberFields)
    const rows = all.map(({ id, email, role, created_at }) => [id, email, role, created_at])
    const header = ['ID', 'EMAIL', 'ROLE', 'CREATED']
    return { json: { members: all }, text: listing(header, rows, 'no user in this team') }
  },
}

const userResetPassword: Command = {
  name: 'user reset-password',
  summary: 'gives a user another password and ends all of his sessions',
  notes: [
    'His refresh tokens are void at once. An access token that he has goes on until it expires, an hour ' +
      'after it was issued at the latest.',
  ],
  options: {
    email: { value: 'EMAIL', about: 'of a user of any team' },
    password: { ...PASSWORD, about: `the new one: ${PASSWORD.about}` },
  },
  run: async ({ members }, args) => {
    const member = await members.resetPassword(OPERATOR, args.of('email'), args.of('password'))
    return {
      json: memberFields(member),
      text: `Set the password of ${member.id} (${member.email}) and ended all sessions.`,
    }
  },
}

const keyList: Command = {
  name: 'key list',
  summary: 'lists the API keys of a team that are in force, newest first',
  options: { team: TEAM },
  run: async ({ teams, keys }, args) => {
    const teamId = args.of('team')
    await teams.require(teamId)
    const { items } = await keys.list(teamId, EVERYTHING)
    const all = items.map(listedKey)
    const rows = all.map((key) => [
      ...[key.id, key.name, key.prefix, key.scopes.join(','), key.environment ?? 'both'],
      ...[key.rate_limit_per_minute?.toString() ?? DEFAULT_LIMIT, key.last_used_at],
      key.created_at,
    ])
    const of = ['ID', 'NAME', 'PREFIX', 'SCOPES', 'ENVIRONMENT', 'PER MINUTE', 'LAST USED']
    return {
      json: { keys: all },
      text: listing([...of, 'CREATED'], rows, 'no key in force in this team'),
    }
  },
}

const keySetLimit: Command = {
  name: 'key set-limit',
  summary: 'gives an API key a quota of its own',
  notes: [`KEY_ID is the id of the key, as \`key list\` shows it. ${REPLICAS}`],
  operand: 'KEY_ID',
  options: {
    'per-minute': {
      value: 'N',
      about:
        `requests in any 60 seconds, a whole number from 1 to ${RATE_LIMIT_PER_MINUTE_MAX}, ` +
        `or "${DEFAULT_LIMIT}" for the quota of the service`,
      takes: { form: /^(\d{1,15}|default)$/, told: `a whole number or "${DEFAULT_LIMIT}"` },
    },
  },
  run: async ({ keys }, args) => {
    const keyId = args.of('KEY_ID')
    const wanted = args.of('per-minute')
    const perMinute = wanted === DEFAULT_LIMIT ? null : Number(wanted)
    const teamId = await keys.teamOf(keyId)
    await keys.setLimit({ userId: OPERATOR, teamId }, keyId, perMinute)
    const quota = perMinute === null ? "the service's quota" : `${perMinute} requests per minute`
    return {
      json: { id: keyId, rate_limit_per_minute: perMinute },
      text: `The key ${keyId} has ${quota}.`,
    }
  },
}

const keyRevoke: Command = {
  name: 'key revoke',
  summary: 'ends an API key for good',
  notes: [`KEY_ID is the id of the key, as \`key list\` shows it. ${REPLICAS}`],
  operand: 'KEY_ID',
  options: {},
  run: async ({ keys }, args) => {
    const keyId = args.of('KEY_ID')
    const teamId = await keys.teamOf(keyId)
    await keys.revoke({ userId: OPERATOR, teamId }, keyId)
    return { json: { id: keyId }, text: `Revoked the key ${keyId}.` }
  },
}

/** All that the operator can do. */
export const COMMANDS: readonly Command[] = [
  ...[teamCreate, teamList],
  ...[userCreate, userList, userResetPassword],
  ...[keyList, keySetLimit, keyRevoke],
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

function roleOf(text: string): Role {
  const role = ROLES.find((known) => known === text)
  if (role === undefined) throw new TypeError('the syntax of the command lets pass an unknown role')
  return role
}
