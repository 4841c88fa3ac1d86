/**
 * Node's module `http`. An `import` of it reads all its members, and some of them load Node's own
 * client for `fetch`, which the service does not use: 0.1 s of a start, and 3 MB.
 */
export const { Agent, IncomingMessage, ServerResponse, maxHeaderSize, request } =
  process.getBuiltinModule('node:http')
