import { auditRecord, type NewAuditRecord, OPERATOR } from '../audit/record.ts'
import type { Passwords } from '../auth/passwords.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import { hashPassword, readEmail } from '../members/credentials.ts'
import { type Member, memberExists, type NewMember } from '../members/service.ts'

export interface Team {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
}

/** What the service needs of the database. */
export interface TeamStore {
  /** All teams, newest first. */
  list(): Promise<Team[]>
  has(teamId: string): Promise<boolean>
  /**
   * Adds a team, its owner and their audit records in one transaction.
   *
   * @returns false, with nothing added, when the owner's address is taken
   */
  add(team: Team, owner: NewMember, audit: readonly NewAuditRecord[]): Promise<boolean>
}

export interface TeamOptions {
  readonly store: TeamStore
  readonly passwords: Passwords
  readonly clock: Clock
}

export interface TeamOrder {
  readonly name: string
  readonly ownerEmail: string
  readonly ownerPassword: string
}

const NAME_CHARS_MAX = 255

/** Teams, which the operator makes. */
export class TeamService {
  private readonly options: TeamOptions

  constructor(options: TeamOptions) {
    this.options = options
  }

  list(): Promise<Team[]> {
    return this.options.store.list()
  }

  /**
   * Makes sure that there is a team.
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
   * @throws AppError `invalid_request` for a name, an address or a password that can be none;
   *   `member_exists` for the address of a user of any team
   */
  async create(order: TeamOrder): Promise<{ team: Team; owner: Member }> {
    const { store, passwords, clock } = this.options
    const name = readName(order.name)
    const email = readEmail(order.ownerEmail)
    const passwordHash = await hashPassword(passwords, order.ownerPassword)
    const epochMs = clock.epochMs()
    const createdAt = new Date(epochMs)
    const team = { id: newId('team_', epochMs), name, createdAt }
    const owner = {
      ...{ id: newId('usr_', epochMs), teamId: team.id, email },
      ...{ role: 'owner' as const, createdAt },
    }
    const by = { userId: OPERATOR, teamId: team.id }
    const made = { action: 'team.create', subject: team.id, after: { name } } as const
    const after = { email, role: owner.role }
    const joined = { action: 'member.create', subject: owner.id, after } as const
    const audit = [made, joined].map((change) => auditRecord(by, change, epochMs))
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
