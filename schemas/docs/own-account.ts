import { EXAMPLE_IDS, EXAMPLE_PASSWORD, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const OWN_ACCOUNT_DOCS = {
  'auth.change_password': {
    tag: 'Sessions',
    summary: "Change one's own password",
    description:
      'Ends all other sessions of the user: their refresh tokens become void, and their access tokens stay valid until they expire. Wrong passwords count like those of a sign-in. A service account has no password and gets 403.',
    errors: ['invalid_credentials'],
    request: {
      'A new password': {
        current_password: EXAMPLE_PASSWORD,
        new_password: 'another long enough password',
      },
    },
    success: { description: 'The password is changed' },
  },
  'sessions.list': {
    tag: 'Sessions',
    summary: "List one's own sessions",
    description:
      'The open sessions of the user who asks, newest first. A service account has none.',
    success: {
      description: 'The sessions',
      example: {
        sessions: [
          {
            id: EXAMPLE_IDS.session,
            started_at: EXAMPLE_TIME,
            last_refreshed_at: EXAMPLE_TIME,
            expires_at: '2026-12-20T09:30:00.000Z',
            is_current: true,
          },
        ],
      },
    },
  },
  'sessions.end': {
    tag: 'Sessions',
    summary: "End one of one's own sessions",
    description:
      'Its refresh token becomes void at once; its last access token stays valid until it expires, for an hour at most.',
    params: { id: { description: 'Id of a session', example: EXAMPLE_IDS.session } },
    errors: ['session_not_found'],
    success: { description: 'The session is ended' },
  },
} as const satisfies Record<string, OperationDoc>
