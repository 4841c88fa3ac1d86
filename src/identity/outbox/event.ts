import type { EventType } from '../../../schemas/webhooks.ts'

export type { EventType }

/** Something that happened, for the webhooks of a team. */
export interface NewEvent {
  readonly teamId: string
  readonly type: EventType
  readonly at: Date
  /** Names ids, numbers and switches; never a value of an applicant, nor a secret. */
  readonly data: object
  /** An event with the same key is stored once in each team; absent: always. */
  readonly onceKey?: string
  /** The only webhook that gets it; absent: all that want its type. */
  readonly webhookId?: string
}
