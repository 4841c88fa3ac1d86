import { Type } from '@sinclair/typebox'

const URL_CHARS_MAX = 2048
const FLOW_CHARS_MAX = 8192
const CODE_CHARS_MAX = 8192

export const SignOnStartRequest = Type.Object(
  {
    redirect_uri: Type.String({
      minLength: 1,
      maxLength: URL_CHARS_MAX,
      description:
        'Where the program waits for the browser: http on 127.0.0.1, [::1] or localhost, with any port and path',
    }),
  },
  { additionalProperties: false },
)

export const SignOnStart = Type.Object({
  authorization_url: Type.String({ description: 'To be opened in the browser of the person' }),
  flow: Type.String({ description: 'Secret; to be sent back with the code' }),
  expires_in: Type.Integer({ description: 'Seconds that the person has' }),
})

export const SignOnRequest = Type.Object(
  {
    flow: Type.String({ minLength: 1, maxLength: FLOW_CHARS_MAX }),
    code: Type.String({ minLength: 1, maxLength: CODE_CHARS_MAX }),
    state: Type.String({ minLength: 1, maxLength: URL_CHARS_MAX }),
    iss: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: URL_CHARS_MAX,
        description: 'The issuer, if the identity provider sent it with the code',
      }),
    ),
  },
  { additionalProperties: false },
)
