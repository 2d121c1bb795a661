/** What follows the command's path in an example; the commands are run by a test, so they stay true. */
export const toolExamples: Readonly<Record<string, readonly string[]>> = {
  state_set: ["build/status '{\"green\": true}'", "greeting hello --ttl 10m", "config @config.json --expected-version 0"],
  state_get: ["build/status", "build/status --version 1"],
  state_list: ["", "build/ --values"],
  state_delete: ["build/status"],
  state_commit: ['--writes \'[{"key": "a", "value": 1}, {"key": "b", "value": 2}]\''],
  lease_acquire: ["deploy --ttl 60s", "database --ttl 5m --wait 30s --agent worker-1"],
  lease_renew: ["deploy --ttl 60s"],
  lease_release: ["deploy"],
  workflow_create: ["nightly --tag queue=nightly --input '{\"day\": 1}'"],
  workflow_claim: ["--tag queue=nightly --ttl 10m"],
  workflow_discover: ["--claimable"],
  session_save: ['chat-1 \'{"topic": "release"}\''],
  session_restore: ["chat-1"],
  history_log: ["build/status --n 5"],
};
