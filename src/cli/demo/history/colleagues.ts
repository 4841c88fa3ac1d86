import type { Role, UserCaller } from '../../../http/access/caller.ts'
import type { Services } from '../../../services.ts'

export interface DemoPerson {
  readonly email: string
  readonly role: Role
  /** Purpose of the role, in a word to whoever signs in. */
  readonly may: string
}

export const COLLEAGUES = {
  approver: {
    email: 'approver@demo.example',
    role: 'admin',
    may: 'decides on changes that wait for a second person',
  },
  auditor: {
    email: 'auditor@demo.example',
    role: 'auditor',
    may: 'reads everything and changes nothing',
  },
  modeler: {
    email: 'modeler@demo.example',
    role: 'lead_modeler',
    may: 'registers scorecards and asks for changes',
  },
} as const satisfies Readonly<Record<string, DemoPerson>>

/** The people of the history. */
export interface DemoStaff {
  readonly approver: UserCaller
  readonly modeler: UserCaller
}

/**
 * Lets the owner add the colleagues. Whoever asks for a change must not have added its approver,
 * so the owner does not ask for any.
 *
 * @param password everybody's
 */
export async function addColleagues(
  { members, auth }: Services,
  owner: UserCaller,
  password: string,
): Promise<DemoStaff> {
  for (const { email, role } of Object.values(COLLEAGUES)) {
    await members.create(owner, { email, password, role })
  }
  const signIn = async ({ email }: DemoPerson) =>
    (await auth.login({ email, password, clientAddress: '127.0.0.1' })).caller
  return { approver: await signIn(COLLEAGUES.approver), modeler: await signIn(COLLEAGUES.modeler) }
}
