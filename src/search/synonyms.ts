import { stemOf } from "./stem.ts";

/**
 * Words that notes about software use for one another, one group per line. Written by hand, for engineering notes in English:
 * compared with general thesauri and word vectors (docs/decisions/0011-search.md), a small specialized table finds more and misleads less.
 * A word may be in several groups, with a different meaning in each; such groups are not merged.
 */
const groups = `
delete remove drop erase purge discard clear wipe
create make build generate produce construct
add insert append attach include
change modify edit alter update adjust
begin start launch boot startup initialize bootstrap
stop halt end terminate quit cease
finish complete done conclude
kill terminate abort die
fail failure error fault crash broken break
crash panic abort die dead died
bug defect flaw issue problem
wrong incorrect faulty bad mistake mistaken
fix repair correct solve solved resolve resolved solution patch
cause reason why because
slow sluggish latency lag delay performance
fast quick quickly speed rapid faster
freeze froze frozen hang hung stall block stuck unresponsive
wait pause delay sleep
time duration period interval
timeout deadline limit
moment time hour
retry repeat again reattempt
attempt try
duplicate double twice repeated dedupe deduplicate
random flaky intermittent unstable sporadic
login signin logon authenticate authentication auth sign
logout signout logoff
password credential passphrase secret
secret key token credential
permission right access privilege allowed
allow permit may accept
deny refuse reject forbid block disallow
forbidden prohibited disallowed
encrypt cipher encryption
hash digest checksum
security protection secure safe
protect guard secure
attack exploit compromise hijack malicious
user customer client account person people
customer client buyer consumer tenant
person people human staff colleague employee
employee colleague staff worker teammate
newcomer onboarding junior
owner holder responsible
team group department
company firm business organisation organization enterprise
vendor supplier provider third-party partner
order purchase
cart basket
pay payment charge billing
invoice bill receipt
bill billing charge
price cost fee amount rate
money cash currency amount
tax vat
refund reimburse
salary payroll wage
accountant accounting bookkeeping finance
shipping delivery shipment dispatch
warehouse stock inventory
database db postgres postgresql sqlite mysql store
relational sql postgresql
table relation
row record entry
column field attribute
query lookup select
join combine
index indexing
schema model
migration migrate upgrade
migrate move relocate transfer
move relocate shift transfer
transaction commit
lock mutex latch
deadlock
backup copy snapshot
restore recover recovery
copy duplicate replica clone
replica follower standby secondary
primary leader master
cache cached caching memoize
stale outdated old obsolete
expire expiry ttl lapse
old outdated legacy obsolete previous
new recent latest fresh
memory ram heap
disk storage drive
storage store bucket
store save keep persist retain
keep retain preserve hold
retention keep retain
load read fetch import
import ingest load
ingest ingestion intake
export download dump extract
upload attachment
file document
attachment upload file
folder directory
path location place
big large huge heavy great
small little tiny compact
long lengthy
short brief
many lots several multiple
full complete whole entire
empty blank nothing missing
missing absent lost lack
lose lost loss disappear vanish
disappear vanish gone
show display render present
hide hidden conceal mask
mask scramble anonymize redact obfuscate
visible shown displayed
picture image photo
avatar profile
thumbnail image resize
icon symbol glyph
font glyph letter typeface
colour color theme
dark theme
size dimension width height
layout format formatting style
format layout shape structure
chart plot graph diagram
page screen view
screen display monitor
button control
widget component control
dialog modal popup
menu dropdown drop-down
form input
frontend ui interface web
interface ui screen
backend server
browser chrome firefox
phone mobile smartphone handset
mobile phone tablet
app application client
website site page
hostname domain host
host server machine node
machine computer server host laptop
node instance server
instance node replica process
cluster fleet farm
container docker image pod
kubernetes k8s kubectl
deploy deployment rollout release ship publish
rollout deploy release
release version ship publish
production prod live
staging preproduction
revert rollback undo back
gradual canary incremental blue-green
version release revision
branch fork
merge integrate
commit change changeset
review approve approval inspect
approve approval permission sign-off
pipeline ci build workflow
plugin extension action addon
test check spec suite testing
suite test spec
mock stub fake
check verify validate inspect
verify check validate prove
lint linter static
compile compiler build
type typing typed
typescript ts
javascript js
library package module dependency sdk
package library module dependency
dependency package library
installer setup install
install setup
configure configuration config setting settings option
setting config option preference
option setting flag switch
flag toggle switch experiment
default standard initial
prefer preferred preference favourite
policy rule convention guideline
rule policy requirement
require need must necessary
requirement need must
limit maximum max cap quota threshold ceiling
quota allowance limit
threshold limit above
minimum min least
throttle limit rate limiting
frequency often rate interval
queue backlog line
backlog queue
message event notification mail
notification alert message webhook
webhook callback notification
alert alarm warning page
email mail message e-mail
digest summary
schedule cron timer planned
planner scheduler
job task work
task job
background asynchronous async worker
worker consumer job
thread process
parallel concurrent simultaneous
simultaneous concurrent parallel
sequential ordered order
order sequence
consecutive sequence gap
stream streaming sse
websocket socket live
connection link socket
disconnect drop close
network internet net
internal private
internet network online
firewall proxy gateway
proxy gateway
vpn tunnel
address ip
dns resolve name
discover discovery find
find search locate lookup
search find lookup
crawler spider scraper
redirect forward
request call
call request invoke
response answer reply
answer reply response
endpoint route api
api endpoint interface
rest http
header field
status code
url link address
cookie session
session login
log logging logs diagnostic
trace tracing
monitor observe watch monitoring
metric measure measurement
measure benchmark measurement
benchmark performance measure
dashboard panel overview
admin administrator back-office
incident outage emergency
outage downtime incident
downtime outage unavailable
available up
on-call duty oncall
runbook playbook procedure
documentation docs manual guide
manual handbook docs
example sample snippet
comment remark
describe explain description
choose pick select decide decision
decide decision choose agree
decision choice
replace swap substitute switch
abandon drop replace remove
rewrite port
language translation locale
translate translation localise localize i18n
string text
text string
character letter
number figure count
figure number amount
total sum
round rounding
percent percentage share
ratio percent
average mean median
daily day every
nightly night
weekly week
monthly month
weekend friday saturday sunday
daylight summer
timezone zone offset
clock time
calendar date
date day
country nation
nation country
map cartography
region zone
location place geo
visitor user
hardware device
device hardware tablet
firmware software
downgrade lower
electricity power
printer print
scan ocr
recognition ocr
spreadsheet csv excel
separator delimiter
parse parser
invisible hidden
suspicious fraud
fraud scam
legal law
law legal
contract agreement
personal private gdpr
privacy gdpr
trial evaluation
free trial
support helpdesk
impersonate behalf
accessibility keyboard
contrast readable readability
hover tooltip
hint tooltip
list array
list overview
page pagination
identifier id key uuid
id identifier
array list
loop iterate
function method
class type
undefined null missing
exception error throw
throw raise
circular cyclic mutual
boot start
bloat vacuum
split shard partition
shard partition
scale autoscale grow
grow increase growth
increase raise grow
decrease reduce lower shrink
shrink reduce
reduce cut lower
overflow exceed full
exceed above over
buffer queue
prompt instruction
ai llm model
recommendation suggestion
suggestion recommendation
guess assume
trust rely
idempotent repeat
affinity sticky
sticky affinity
indent indentation whitespace
whitespace space tab indentation
typo mistype
keystroke typing key
typing keystroke
repository repo codebase
squash rebase
pull-request pr merge-request
contributor author committer
maintainer owner
hotfix patch
regression breakage
workaround bypass
root-cause culprit
refactor restructure cleanup
rename renaming
deprecate sunset retire
license licence
monorepo workspace
artifact artefact binary
executable binary
changelog release-notes
semver versioning
bump upgrade
lockfile pinned
formatter prettier biome
autocomplete completion
debugger breakpoint debug
profiler profiling
stacktrace backtrace traceback
assertion assert expect
fixture testdata
coverage covered
e2e end-to-end playwright cypress
unit-test spec
load-test stress
fuzz fuzzing
nondeterministic flaky
terraform infrastructure iac provisioning
provision allocate
helm chart
namespace scope
sidecar agent
daemon background service
supervisor systemd
cronjob cron
autoscaler autoscale scaling
load-balancer balancer
ingress router
certificate tls ssl https
oauth sso saml openid
jwt token
mfa 2fa two-factor otp totp one-time
captcha bot
rbac role
acl permission
revoke revocation invalidate
rotate rotation renew
sandbox isolated isolation
vulnerability cve exploit
sanitize escape
injection injected
leak leakage
audit auditing compliance
pseudonymize anonymize
consent opt-in
unsubscribe opt-out
subscriber subscription
plan tier
seat licence
discount coupon voucher promotion
checkout purchase
chargeback dispute
ledger bookkeeping
quote offer
revenue turnover income
budget spending
expense spending
deposit prepayment
supplier manufacturer
merchandise product item article
parcel package shipment
courier carrier
return refund
queue broker kafka rabbitmq
topic stream
producer publisher
consumer subscriber
dead-letter poison
idempotency idempotent deduplicate
replication replicate
failover switchover
quorum consensus majority
snapshot dump
truncate trim
nullable null
foreign-key reference
constraint invariant
view materialized
full-text search
autovacuum vacuum
orm hibernate sqlalchemy prisma
pool pooling
prefetch preload
lazy deferred
eager upfront
debounce throttle
evict eviction
invalidate purge
warmup warm
cdn edge
compress gzip zip compression
minify bundle
bundler webpack vite esbuild
transpile compile
polyfill fallback
fallback backup
degrade degradation
circuit-breaker breaker
backoff exponential
jitter random
heartbeat keepalive ping
handshake negotiate
socket port
packet datagram
bandwidth throughput
latency responsiveness
bottleneck hotspot
saturate overload
overload overwhelmed
race concurrency
semaphore mutex
starve starvation
leader elected election
clock-skew drift
timestamp date
utc gmt
midnight night
quarter quarterly
annual yearly year
fortnight biweekly
weekday workday
holiday vacation leave
maintenance window
deadline due
milestone deadline
roadmap plan
backlog tickets
ticket issue jira
estimate estimation
standup meeting
retrospective postmortem
postmortem incident
escalate escalation
hire hiring recruit interview
mentor buddy
handover handoff
stakeholder sponsor
persona audience
survey questionnaire
feedback complaint
complain complaint
analytics metrics tracking
telemetry metrics
funnel conversion
cohort segment
ab-test experiment variant
feature capability
prototype spike poc
wireframe mockup
palette colour shade
spacing margin padding
animation transition
spinner loader loading
placeholder skeleton
tooltip popover
toast snackbar
banner notice
sidebar navigation
breadcrumb navigation
checkbox tick
dropdown select
shortcut hotkey keybinding
drag drop
scroll scrolling
viewport screen
responsive adaptive
screenreader accessibility a11y
locale region
plural pluralization
decimal fraction
rounding truncation
pdf document
markdown md
yaml yml
json payload
payload body
multipart upload
thumbnail preview
crop resize
video clip movie
audio sound
microphone voice
camera photo
barcode scanner
gps location coordinates
geocode coordinates
battery power
offline disconnected
sync synchronize synchronization
conflict collision
merge reconcile
trash bin deleted
archive archived cold
undelete restore
wizard assistant
onboarding welcome
tutorial walkthrough
faq help
glossary terminology
naming name
prefix beginning
suffix ending
whitespace blank
encoding charset utf-8
emoji smiley
regex pattern
glob wildcard
recursion recursive
pointer reference
garbage gc
leak growth
segfault crash
exit-code status
stdout output
stdin input
environment env
variable var
constant literal
enum enumeration
interface contract
inherit extend
override overwrite
singleton global
factory builder
middleware interceptor
hook callback
observer listener
serialize marshal serialization
deserialize unmarshal parse
decode decoding
encode encoding
base64 encoded
gpu cuda
train training
inference prediction predict
embedding vector
dataset corpus
label annotation
accuracy precision
hallucinate invent
`;

let table: ReadonlyMap<string, readonly string[]> | undefined;

/** Synonyms of a word, both as stems; empty for an unknown word. The table is built for the first question, so a server without searches pays nothing. */
export function synonymsOf(stem: string): readonly string[] {
  table ??= buildTable();
  return table.get(stem) ?? [];
}

function buildTable(): ReadonlyMap<string, readonly string[]> {
  const others = new Map<string, Set<string>>();
  for (const line of groups.trim().split("\n")) {
    const stems = line.split(" ").map((word) => stemOf(word.replaceAll("-", "")));
    for (const stem of stems) {
      const known = others.get(stem) ?? new Set();
      for (const other of stems) if (other !== stem) known.add(other);
      others.set(stem, known);
    }
  }
  return new Map(Array.from(others, ([stem, set]) => [stem, [...set]]));
}
