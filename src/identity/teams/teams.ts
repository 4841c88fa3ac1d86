import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import { auditRecord, OPERATOR } from '../audit/record.ts'
import type { Passwords } from '../auth/passwords.ts'
import { hashPassword, readEmail } from './credentials.ts'
import type { Member } from './member-store.ts'
import { memberExists } from './members.ts'
import type { Team, TeamStore } from './team-store.ts'

interface TeamOptions {
  readonly store: TeamStore
  readonly passwords: Passwords
  readonly clock: Clock
}

interface TeamInput {
  readonly name: string
  readonly ownerEmail: string
  readonly ownerPassword: string
}

const NAME_CHARS_MAX = 255

/** Teams. Only the operator creates them. */
export class TeamService {
  private readonly options: TeamOptions

  constructor(options: TeamOptions) {
    this.options = options
  }

  list(): Promise<Team[]> {
    return this.options.store.list()
  }

  /**
   * Checks that a team exists.
   *
   * @throws AppError `not_found`
   */
  async require(teamId: string): Promise<void> {
    const exists = isId(teamId, 'team_') && (await this.options.store.has(teamId))
    if (!exists) throw new AppError('not_found', 'there is no team with this id')
  }

  /**
   * Creates a team and its owner.
   *
   * @throws AppError `invalid_request` for an invalid name, address or password; `member_exists` if
   *   a user of any team has the address
   */
  async create(input: TeamInput): Promise<{ team: Team; owner: Member }> {
    const { store, passwords, clock } = this.options
    const name = readName(input.name)
    const email = readEmail(input.ownerEmail)
    const passwordHash = await hashPassword(passwords, input.ownerPassword, { email })
    const epochMs = clock.epochMs()
    const createdAt = new Date(epochMs)
    const team = { id: newId('team_', epochMs), name, createdAt }
    const owner = {
      id: newId('usr_', epochMs),
      teamId: team.id,
      email,
      role: 'owner' as const,
      createdAt,
      lastSignInAt: null,
    }
    const actor = { userId: OPERATOR, teamId: team.id }
    const created = { action: 'team.create', subject: team.id, after: { name } } as const
    const after = { email, role: owner.role }
    const joined = { action: 'member.create', subject: owner.id, after } as const
    const audit = [created, joined].map((change) => auditRecord(actor, change, epochMs))
    if (!(await store.add(team, { ...owner, passwordHash }, audit))) throw memberExists()
    return { team, owner }
  }
}

function readName(name: string): string {
  const chars = [...name].length
  const isText = name.isWellFormed() && !name.includes('\0') && name.trim() !== ''
  if (isText && chars <= NAME_CHARS_MAX) return name
  throw new AppError(
    'invalid_request',
    `the name must have 1 to ${NAME_CHARS_MAX} characters, not only white space`,
  )
}
