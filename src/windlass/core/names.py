"""Friendly generated names: an adjective and a thing found on or near a ship."""

from __future__ import annotations

from collections.abc import Callable, Container

from windlass.core.ids import AgentId

ADJECTIVES = tuple(
    """able agile airy alert amber ample azure balmy bold brave breezy brief bright brisk broad calm
    candid careful cheery chief civil clean clear clever cool copper coral cosy crisp curious daring
    deep deft dry dusky eager early earnest easy even exact fair famous fast fine firm first fit
    fleet fluent fond frank free fresh full gentle giant glad golden good grand great green handy
    happy hardy hearty high honest humble icy ideal jolly keen kind large lasting level light lively
    local loyal lucid lucky lunar mellow merry mighty mild misty modest native navy neat new nimble
    noble oaken open patient plain polite prime prompt proper proud prudent pure quick quiet ready
    robust rosy round royal ruddy rustic safe sandy sharp silent silver simple sleek smart smooth
    snug sober solar solid sound spare speedy spry square stable stark steady steep still stout
    strong sturdy sunny super sure sweet swift tame tidy tough trim true trusty upbeat usual vast
    velvet vivid warm wary whole wide wild windy wise witty young zesty""".split()
)
NOUNS = tuple(
    """albatross anchor anvil astern auk ballast barge barque barnacle batten bay beacon beam bell
    berth bilge binnacle boom bosun bow bowline brace breaker brig buoy bulkhead cabin cable canvas
    capstan caravel cargo chain chart clam cleat clew cliff clipper coast cod coil compass coracle
    cormorant cove crab crane crest crew current cutter davit deck dinghy dock dolphin dory drift
    eddy eel estuary fathom fender ferry fjord flag fleet float flounder fluke foam fog fore frigate
    gaff gale galley gannet gangway gull gunwale gybe haddock halyard harbour hatch hawser headland
    heron herring hitch hold hull inlet island jetty jib kelp keel kestrel ketch knot lagoon lantern
    lanyard lateen leeway lighthouse limpet line lobster lock log longboat lugger mackerel mast
    mizzen moor mussel narwhal nautilus oar orca osprey otter oyster packet paddle parrel pawl
    pelican pennant petrel pier pike pilot pinnace plank plover pontoon port prow puffin pulley
    quarter quay raft ratchet reef rib rigging rope rudder sail salmon sand schooner scow scull seal
    shackle shanty sheet shingle shoal shore shrimp skiff skipper sloop sole sound spar spindrift
    splice spray squall squid stern stoker strait strand sturgeon surf swell tackle tern tide tiller
    topsail trawler trident trout tug tuna turtle wake walrus warp wharf whale winch wind yacht
    yard yawl""".split()
)


def friendly(pick: Callable[[int], int], taken: Container[str]) -> AgentId:
    """Makes a name that is not taken; `pick(n)` gives a number below n, so a seed repeats it."""
    for attempt in range(1000):
        name = f"{ADJECTIVES[pick(len(ADJECTIVES))]}-{NOUNS[pick(len(NOUNS))]}"
        if attempt >= 50:
            name = f"{name}-{attempt}"
        if name not in taken:
            return AgentId(name)
    return AgentId(f"agent-{pick(1 << 30):08x}")
